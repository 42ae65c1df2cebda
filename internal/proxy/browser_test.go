package proxy_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// A browser is a headless Chromium with one tab, driven by its DevTools protocol on a
// pipe.
type browser struct {
	t       *testing.T
	to      io.Writer
	mu      sync.Mutex
	next    int
	answers map[int]chan browserAnswer
	session string
	log     []string // of the tab: errors and refused content
}

type browserAnswer struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// startBrowser starts Chromium, and skips the test if there is none.
func startBrowser(t *testing.T) *browser {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		t.Skip("there is no Chromium; install the package chromium to run this")
	}
	toRead, toWrite, err := os.Pipe()
	fromRead, fromWrite, err2 := os.Pipe()
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	profile, err := os.MkdirTemp("", "chromium")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(profile) }) // helpers of Chromium that outlive it may still write there
	cmd := exec.Command(program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
		"--user-data-dir="+profile, "--remote-debugging-pipe", "about:blank")
	cmd.ExtraFiles = []*os.File{toRead, fromWrite} // its descriptors 3 and 4
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	toRead.Close()
	fromWrite.Close()
	b := &browser{t: t, to: toWrite, answers: make(map[int]chan browserAnswer)}
	go b.read(bufio.NewReaderSize(fromRead, 1<<20))
	t.Cleanup(func() {
		_, _ = b.send("Browser.close", nil)
		toWrite.Close()
		_ = cmd.Wait()
		fromRead.Close()
	})
	var target struct{ TargetID string }
	b.call(&target, "Target.createTarget", map[string]any{"url": "about:blank"})
	var attached struct{ SessionID string }
	b.call(&attached, "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true})
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		b.call(nil, domain+".enable", nil)
	}
	return b
}

func (b *browser) read(from *bufio.Reader) {
	for {
		text, err := from.ReadBytes(0)
		if err != nil {
			return
		}
		var a browserAnswer
		if json.Unmarshal(bytes.TrimSuffix(text, []byte{0}), &a) != nil {
			continue
		}
		b.mu.Lock()
		if c := b.answers[a.ID]; a.ID != 0 && c != nil {
			delete(b.answers, a.ID)
			c <- a
		}
		if a.Method == "Log.entryAdded" || a.Method == "Runtime.exceptionThrown" {
			b.log = append(b.log, string(a.Params))
		}
		b.mu.Unlock()
	}
}

func (b *browser) send(method string, params any) (chan browserAnswer, error) {
	if params == nil {
		params = struct{}{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next++
	m := map[string]any{"id": b.next, "method": method, "params": params}
	if b.session != "" && !strings.HasPrefix(method, "Target.") && !strings.HasPrefix(method, "Browser.") {
		m["sessionId"] = b.session
	}
	text, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	c := make(chan browserAnswer, 1)
	b.answers[b.next] = c
	_, err = b.to.Write(append(text, 0))
	return c, err
}

// call sends a command, and reads its result.
func (b *browser) call(result any, method string, params any) {
	b.t.Helper()
	if err := b.tryCall(result, method, params); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
}

func (b *browser) tryCall(result any, method string, params any) error {
	c, err := b.send(method, params)
	if err != nil {
		return err
	}
	select {
	case a := <-c:
		if a.Error != nil {
			return errors.New(a.Error.Message)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(a.Result, result)
	case <-time.After(5 * time.Minute): // which bounds a hang
		return errors.New("no answer")
	}
}

// eval returns the value of an expression in the tab.
func (b *browser) eval(result any, expression string) {
	b.t.Helper()
	if err := b.tryEval(result, expression); err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
}

func (b *browser) tryEval(result any, expression string) error {
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	err := b.tryCall(&r, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true})
	switch {
	case err != nil:
		return err
	case r.ExceptionDetails != nil:
		return errors.New(r.ExceptionDetails.Text + " " + r.ExceptionDetails.Exception.Description)
	case result == nil || len(r.Result.Value) == 0:
		return nil
	}
	return json.Unmarshal(r.Result.Value, result)
}

// wait waits until an expression is true in the tab. While a page is replaced by the
// next one, an expression has no value, but an error.
func (b *browser) wait(expression string) {
	b.t.Helper()
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		var ok bool
		err := b.tryEval(&ok, "Boolean("+expression+")")
		if err == nil && ok {
			return
		}
		if time.Now().After(end) {
			var text string
			_ = b.tryEval(&text, "document.body.innerText")
			b.t.Fatalf("never true: %s, %v\nthe page says\n%s", expression, err, text)
		}
	}
}

// open loads an address.
func (b *browser) open(address string) {
	b.t.Helper()
	b.call(nil, "Page.navigate", map[string]any{"url": address})
	b.wait(fmt.Sprintf("document.readyState === 'complete' && location.href === %q", address))
}

// size sets the tab's width and height, and light or dark colours.
func (b *browser) size(width, height int, scheme string) {
	b.t.Helper()
	b.call(nil, "Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})
	b.call(nil, "Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}})
}

// picture writes what the tab shows into a file.
func (b *browser) picture(file string) {
	b.t.Helper()
	var shot struct{ Data string }
	b.call(&shot, "Page.captureScreenshot", map[string]any{"format": "png"})
	data, err := base64.StdEncoding.DecodeString(shot.Data)
	if err == nil {
		err = os.WriteFile(file, data, 0o644)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}
