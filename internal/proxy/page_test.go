package proxy_test

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tiercompact/tiercompact"
	"github.com/tiercompact/tiercompact/archive"
	"github.com/tiercompact/tiercompact/internal/proxy"
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
		s.post(t, "/v1/chat/completions", toolSession(n), "X-Tiercompact-Session", name)
		s.proxy.Wait()
	}
}

// toolSession is a request after n turns in which a tool read a file.
func toolSession(n int) string {
	items := []string{`{"role":"system","content":"You are a coding assistant."}`}
	for i := range n {
		items = append(items, withToolCalls(i)...)
	}
	items = append(items, fmt.Sprintf(`{"role":"user","content":"Question %d?"}`, n))
	return `{"model":"m","messages":[` + strings.Join(items, ",") + `]}`
}

// formOf returns the fields of the undo form of a conversation.
func formOf(t *testing.T, text string) url.Values {
	t.Helper()
	form := make(url.Values)
	for _, m := range regexp.MustCompile(`<input type="hidden" name="(\w+)" value="([^"]*)">`).FindAllStringSubmatch(text, -1) {
		form.Set(m[1], html.UnescapeString(m[2]))
	}
	if len(form) != 3 {
		t.Fatalf("the form has the fields %v: %s", form, text)
	}
	return form
}

func (s *setup) get(t *testing.T, path string) (int, string) {
	t.Helper()
	answer, err := http.Get(s.Server.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if policy := answer.Header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
		t.Errorf("%s: the policy is %q", path, policy)
	}
	return answer.StatusCode, string(text)
}

// TestUndoOnThePage undoes a compaction by the form: the next request goes upstream as
// it came, stays so in the cooldown, and the archive records it.
func TestUndoOnThePage(t *testing.T) {
	var store archive.Store
	s := newSetup(t, 8192, func(c *proxy.Config) { withArchive(8192)(c); store = c.Archive })
	body := toolSession(5)
	const path, session = "/v1/chat/completions", "/_tiercompact/session?id=roomy"
	s.post(t, path, body, "X-Tiercompact-Session", "roomy", "X-Tiercompact-Mode", "hard")
	compacted := s.last(t)
	if len(compacted) >= len(body) {
		t.Fatal("nothing was compacted")
	}
	if s.post(t, path, body, "X-Tiercompact-Session", "roomy"); !bytes.Equal(s.last(t), compacted) {
		t.Fatal("the compaction is not repeated")
	}
	_, text := s.get(t, session)
	form := formOf(t, text)
	send := func(form url.Values, headers ...string) int {
		answer, _ := s.post(t, "/_tiercompact/undo", form.Encode(), append([]string{"Content-Type", "application/x-www-form-urlencoded"}, headers...)...)
		return answer.StatusCode
	}
	for name, change := range map[string]func(url.Values){
		"no proof": func(f url.Values) { f.Del("proof") }, "another proof": func(f url.Values) { f.Set("proof", strings.Repeat("0", 64)) },
		"another step": func(f url.Values) { f.Set("step", "2") }, "another conversation": func(f url.Values) { f.Set("id", "other") }, "no step": func(f url.Values) { f.Del("step") },
	} {
		wrong := maps.Clone(form)
		change(wrong)
		if got := send(wrong); got != 403 {
			t.Errorf("%s: %d", name, got)
		}
	}
	if got := send(form, "Origin", "http://evil.example"); got != 403 {
		t.Errorf("another site: %d", got)
	}
	if got, _ := s.get(t, "/_tiercompact/undo?"+form.Encode()); got != 405 {
		t.Errorf("as a link: %d", got)
	}
	if s.post(t, path, body, "X-Tiercompact-Session", "roomy"); !bytes.Equal(s.last(t), compacted) {
		t.Fatal("a refused form undid the compaction")
	}
	if got := send(form); got != 200 { // of the page that it leads to
		t.Fatalf("undo: %d", got)
	}
	if s.post(t, path, body, "X-Tiercompact-Session", "roomy"); string(s.last(t)) != body {
		t.Errorf("after the undo, %d of %d bytes went upstream", len(s.last(t)), len(body))
	}
	if got := send(form); got != 409 {
		t.Errorf("twice: %d", got)
	}
	steps, err := store.Steps(t.Context(), "roomy")
	if err != nil || len(steps) != 2 || steps[1].Undoes != 1 {
		t.Errorf("the archive has %+v, %v", steps, err)
	}
	if found, err := archive.Verify(t.Context(), store, "roomy"); err != nil || len(found.Damages) > 0 {
		t.Errorf("the archive has damages: %v, %v", found, err)
	}
	s.post(t, path, body, "X-Tiercompact-Session", "roomy", "X-Tiercompact-Mode", "hard") // the next one has a number of its own
	if steps, _ = store.Steps(t.Context(), "roomy"); len(steps) != 3 {
		t.Errorf("the archive has %+v", steps)
	}
}

// TestThePageFindsWhatWasRemoved searches, and follows the link of a hit.
func TestThePageFindsWhatWasRemoved(t *testing.T) {
	s := newSetup(t, 4096, withArchive(4096))
	s.work(t, "a b", 28, 28)
	code, text := s.get(t, "/_tiercompact/search?q=%22line+of+file_3.go%22")
	link := regexp.MustCompile(`href="(/_tiercompact/entry[^"]*)"`).FindStringSubmatch(text)
	if code != 200 || link == nil {
		t.Fatalf("%d %s", code, text)
	}
	if code, text = s.get(t, html.UnescapeString(link[1])); code != 200 || !strings.Contains(text, "file_3.go") {
		t.Errorf("%d %s", code, text)
	}
	for path, want := range map[string]int{
		"": 200, "session?id=a+b": 200, "session?id=none": 404, "session": 404, "round?id=a+b&step=1": 200, "round?id=a+b&step=9": 404, "round?id=a+b&step=x": 400,
		"search": 200, "search?q=zzzzqqq": 200, "entry?session=a+b&id=ffffffff": 404, "page.css": 200, "page.js": 200, "icon.svg": 200, "nothing": 404, "assets/page.css": 404,
	} {
		if code, text := s.get(t, "/_tiercompact/"+path); code != want {
			t.Errorf("%s: %d %.300s", path, code, text)
		}
	}
}

// TestABrowserCanSendTheTokenAsAPassword has a proxy that demands a token.
func TestABrowserCanSendTheTokenAsAPassword(t *testing.T) {
	s := newSetup(t, 4096, func(c *proxy.Config) { c.Token = token })
	for _, test := range []struct {
		path, password string
		want           int
	}{
		{"/_tiercompact/", token, 200}, {"/_tiercompact/", token + "x", 401}, {"/_tiercompact/", "", 401}, {"/metrics", token, 401}, {"/api/tags", token, 401}, {"/v1/compact", token, 401},
	} {
		r, _ := http.NewRequest(http.MethodGet, s.Server.URL+test.path, nil)
		r.SetBasicAuth("anyone", test.password)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if asks := strings.HasPrefix(answer.Header.Get("WWW-Authenticate"), "Basic "); answer.StatusCode != test.want || asks != (test.want == 401 && test.path == "/_tiercompact/") {
			t.Errorf("%s, %q: %d, %v", test.path, test.password, answer.StatusCode, answer.Header)
		}
	}
}

func TestThePageInChromium(t *testing.T) {
	b := startBrowser(t)
	const window = 4096
	s := newSetup(t, window, withArchive(window))
	home := s.Server.URL + "/_tiercompact/"
	b.size(1100, 900, "light")
	b.open(home)
	b.wait(`document.body.innerText.includes("There is no conversation yet")`)
	b.wait(`document.getElementById("live").textContent === "live"`)
	s.work(t, "fix-login", 1, 1) // no reload: it appears
	b.wait(`document.querySelectorAll(".card").length === 1 && document.querySelector(".card a").textContent === "fix-login"`)
	s.work(t, "fix-login", 2, 30)
	b.wait(`/\b[1-9]\d* compactions?/.test(document.querySelector(".card").innerText)`)
	session := home + "session?id=fix-login"
	b.open(session)
	b.checkChart(t)
	if dir := os.Getenv("PAGE_PICTURES"); dir != "" {
		b.takePictures(dir, session)
	}
	b.checkUndo(t, s, home)
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

// checkUndo undoes a compaction with the page's button: the next request goes upstream
// as it came.
func (b *browser) checkUndo(t *testing.T, s *setup, home string) {
	t.Helper()
	body := toolSession(5)
	if answer, _ := s.post(t, "/v1/chat/completions", body, "X-Tiercompact-Session", "roomy", "X-Tiercompact-Mode", "hard"); len(s.last(t)) >= len(body) {
		t.Fatalf("nothing was compacted: %v", answer.Header)
	}
	b.open(home + "session?id=roomy")
	b.wait(`[...document.querySelectorAll(".tag")].some(e => e.textContent === "in use")`)
	b.eval(nil, `document.querySelector("form[action$=undo] button").click()`)
	b.wait(`document.querySelector(".undone .tag") && ![...document.querySelectorAll(".tag")].some(e => e.textContent === "in use")`)
	if s.post(t, "/v1/chat/completions", body, "X-Tiercompact-Session", "roomy"); string(s.last(t)) != body {
		t.Errorf("after the undo, %d of %d bytes went upstream", len(s.last(t)), len(body))
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
