package proxy_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/proxy"
)

// withArchive is a proxy whose compactions are archived in memory.
func withArchive(window int) func(*proxy.Config) {
	store := archive.NewMemory()
	return func(c *proxy.Config) {
		c.Archive = store
		c.Open = func(ctx context.Context, m string) (tiercompact.Config, error) {
			cfg, err := steady(window)(ctx, m)
			cfg.Archive = store
			return cfg, err
		}
	}
}

// work sends n requests of a growing session in which tools read files.
func (s *setup) work(t *testing.T, name string, from, to int) {
	t.Helper()
	for n := from; n <= to; n++ {
		items := []string{`{"role":"system","content":"You are a coding assistant."}`}
		for i := range n {
			items = append(items, withToolCalls(i)...)
		}
		items = append(items, fmt.Sprintf(`{"role":"user","content":"Question %d?"}`, n))
		s.post(t, "/v1/chat/completions", `{"model":"m","messages":[`+strings.Join(items, ",")+`]}`, "X-Tiercompact-Session", name)
		s.proxy.Wait()
	}
}

func TestThePageInChromium(t *testing.T) {
	b := startBrowser(t)
	const window = 8192
	s := newSetup(t, window, withArchive(window))
	home := s.Server.URL + "/_tiercompact/"
	b.size(1100, 900, "light")
	b.open(home)
	b.wait(`document.body.innerText.includes("There is no conversation yet")`)
	b.wait(`document.getElementById("live").textContent === "live"`)
	s.work(t, "fix-login", 1, 1) // no reload: it appears
	b.wait(`document.querySelectorAll(".card").length === 1 && document.querySelector(".card a").textContent === "fix-login"`)
	s.work(t, "fix-login", 2, 24)
	b.wait(`/\b[1-9]\d* compactions/.test(document.querySelector(".card").innerText)`)
	session := home + "session?id=fix-login"
	b.open(session)
	b.checkChart(t)
	if dir := os.Getenv("PAGE_PICTURES"); dir != "" {
		b.takePictures(dir, session)
	}
	b.checkUndo(t, s)
	b.checkNarrow(t, home, session)
	for _, line := range b.log {
		t.Errorf("the browser complains: %s", line)
	}
}

// checkChart looks whether the chart is readable: its texts are inside it, apart from
// each other, in colours that differ from the ground, light and dark.
func (b *browser) checkChart(t *testing.T) {
	t.Helper()
	b.wait(`document.querySelectorAll(".drop").length > 1 && document.querySelector("polyline.usage").getAttribute("points").split(" ").length >= 48`)
	b.wait(`["soft", "hard", "emergency", "budget"].every(n => document.querySelector(".chart .label.ink-" + n))`)
	var faults []string
	b.eval(&faults, `(() => {
		const found = [], all = [...document.querySelectorAll(".chart text")];
		const within = document.querySelector(".chart").getBoundingClientRect();
		const boxes = all.map(e => e.getBoundingClientRect());
		boxes.forEach((a, i) => {
			if (a.left < within.left - 1 || a.right > within.right + 1 || a.top < within.top - 1 || a.bottom > within.bottom + 1) found.push("outside: " + all[i].textContent);
			if (a.height < 10) found.push("small: " + all[i].textContent);
			boxes.slice(0, i).forEach((b, j) => {
				if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 4 && b.top < a.bottom - 4) found.push("over each other: " + all[i].textContent + " and " + all[j].textContent);
			});
		});
		return found;
	})()`)
	for _, fault := range faults {
		t.Errorf("the chart's text is %s", fault)
	}
	for _, scheme := range []string{"light", "dark"} {
		b.size(1100, 900, scheme)
		var contrasts map[string]float64
		b.eval(&contrasts, `(() => {
			const light = c => { const v = c.match(/[\d.]+/g).slice(0, 3).map(x => { x /= 255; return x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4; }); return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2]; };
			const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
			const ground = getComputedStyle(document.body).backgroundColor, out = {};
			for (const q of [".chart .axis", ".chart .ink-soft", ".chart .ink-hard", ".chart .ink-emergency", ".chart .ink-budget"]) out[q] = ratio(getComputedStyle(document.querySelector(q)).fill, ground);
			out["the line"] = ratio(getComputedStyle(document.querySelector(".usage")).stroke, ground);
			for (const q of ["body", "a", ".dim"]) out[q] = ratio(getComputedStyle(document.querySelector(q)).color, ground);
			return out;
		})()`)
		for what, ratio := range contrasts {
			if ratio < 4.5 {
				t.Errorf("%s, %s: a contrast of %.1f", scheme, what, ratio)
			}
		}
	}
}

// checkUndo undoes the newest compaction with the page's button.
func (b *browser) checkUndo(t *testing.T, s *setup) {
	t.Helper()
	before := len(s.last(t))
	var inUse int
	b.eval(&inUse, `[...document.querySelectorAll(".tag")].filter(e => e.textContent === "in use").length`)
	b.eval(nil, `document.querySelector("form[action$=undo] button").click()`)
	b.wait(`document.querySelector(".undone .tag")`)
	b.wait(fmt.Sprintf(`[...document.querySelectorAll(".tag")].filter(e => e.textContent === "in use").length === %d`, inUse-1))
	s.work(t, "fix-login", 24, 24)
	if after := len(s.last(t)); after <= before {
		t.Errorf("after the undo, %d bytes went upstream, %d before", after, before)
	}
}

// checkNarrow looks at the pages on a phone, and without scripts.
func (b *browser) checkNarrow(t *testing.T, pages ...string) {
	t.Helper()
	b.size(360, 740, "dark")
	for _, page := range pages {
		b.open(page)
		var wide float64
		if b.eval(&wide, `document.documentElement.scrollWidth`); wide > 360 {
			t.Errorf("%s is %g pixels wide on a phone", page, wide)
		}
	}
	b.call(nil, "Emulation.setScriptExecutionDisabled", map[string]any{"value": true})
	b.call(nil, "Page.reload", nil)
	b.wait(`document.readyState === "complete" && document.body.innerText.includes("What each compaction did and kept") && document.querySelector("polyline.usage")`)
	b.call(nil, "Emulation.setScriptExecutionDisabled", map[string]any{"value": false})
}

// takePictures writes the pictures of docs/.
func (b *browser) takePictures(dir, session string) {
	b.t.Helper()
	for _, scheme := range []string{"light", "dark"} {
		b.size(1000, 900, scheme)
		b.open(session)
		b.picture(filepath.Join(dir, "page-"+scheme+".png"))
	}
	b.size(380, 820, "light")
	b.open(session)
	b.picture(filepath.Join(dir, "page-phone.png"))
	b.size(1100, 900, "light")
	b.open(session)
}

// TestTheBrowserRunsNothingOfAConversation has markup in every place that a client
// fills: names, messages, tools, queries.
func TestTheBrowserRunsNothingOfAConversation(t *testing.T) {
	b := startBrowser(t)
	s := newSetup(t, 3000, withArchive(3000))
	const evil = `<img src=x onerror=\"window.hacked=1\"><script>window.hacked=2</script></pre><svg onload=window.hacked=3>`
	var items []string
	for i := range 40 {
		items = append(items, fmt.Sprintf(`{"role":"user","content":"needle %d %s"}`, i, evil), fmt.Sprintf(`{"role":"assistant","content":"%s"}`, strings.Repeat(evil, 3)))
	}
	name := strings.ReplaceAll(evil, `\"`, `"`)
	answer, _ := s.post(t, "/api/chat", `{"model":"m","messages":[`+strings.Join(append(items, `{"role":"user","content":"Go on."}`), ",")+`]}`, "X-Tiercompact-Session", name)
	if answer.Header.Get("X-Tiercompact-Level") == "none" {
		t.Fatalf("headers %v", answer.Header)
	}
	home := s.Server.URL + "/_tiercompact/"
	for _, page := range []string{"", "session?" + url.Values{"id": {name}}.Encode(), "round?" + url.Values{"id": {name}, "step": {"1"}}.Encode(), "search?" + url.Values{"q": {"needle " + name}}.Encode(), "session?" + url.Values{"id": {name + "x"}}.Encode(), "entry?" + url.Values{"id": {name}}.Encode()} {
		b.call(nil, "Page.navigate", map[string]any{"url": home + page})
		b.wait(`document.readyState === "complete" && document.getElementById("main")`)
		var made int
		if b.eval(&made, `document.querySelectorAll("main img, main script, main svg[onload]").length + (window.hacked ? 100 : 0)`); made != 0 {
			t.Errorf("%.60s: markup of the conversation is in the page: %d", page, made)
		}
	}
	var text string
	if b.open(home); true {
		b.eval(&text, "document.body.innerText")
	}
	if !strings.Contains(text, "<img src=x") {
		t.Errorf("the name is not shown as text: %s", text)
	}
}
