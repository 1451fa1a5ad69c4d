package browser

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// Tab is a page of the browser, without cookies of others. Close it.
type Tab struct {
	chromium *Chromium
	context  string
	session  string

	mu       sync.Mutex
	messages []string // errors of the console
}

// Screen is on what a page is shown.
type Screen struct {
	Width, Height int
	Dark          bool
	NoScript      bool
}

// Open opens an empty tab.
func (c *Chromium) Open(s Screen) (*Tab, error) {
	t := &Tab{chromium: c}
	var context struct{ BrowserContextID string }
	if err := c.do("", "Target.createBrowserContext", struct{}{}, &context); err != nil {
		return nil, err
	}
	t.context = context.BrowserContextID
	var target struct{ TargetID string }
	if err := c.do("", "Target.createTarget", map[string]any{"url": "about:blank", "browserContextId": t.context}, &target); err != nil {
		return nil, err
	}
	var session struct{ SessionID string }
	if err := c.do("", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &session); err != nil {
		return nil, err
	}
	t.session = session.SessionID
	c.mu.Lock()
	c.events[t.session] = t.event
	c.mu.Unlock()
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		if err := t.do(domain+".enable", struct{}{}, nil); err != nil {
			return nil, err
		}
	}
	return t, t.Show(s)
}

// Show changes the screen.
func (t *Tab) Show(s Screen) error {
	scheme := "light"
	if s.Dark {
		scheme = "dark"
	}
	return errors.Join(
		t.do("Emulation.setDeviceMetricsOverride", map[string]any{"width": s.Width, "height": s.Height, "deviceScaleFactor": 1, "mobile": false}, nil),
		t.do("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil),
		t.do("Emulation.setScriptExecutionDisabled", map[string]any{"value": s.NoScript}, nil),
		t.do("Emulation.setFocusEmulationEnabled", map[string]any{"enabled": true}, nil),
	)
}

// event notes errors. It must not send commands: it is called by the goroutine
// that reads their answers.
func (t *Tab) event(method string, params json.RawMessage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch method {
	case "Log.entryAdded":
		var p struct {
			Entry struct{ Source, Level, Text string }
		}
		if json.Unmarshal(params, &p) == nil && p.Entry.Level != "info" && p.Entry.Level != "verbose" {
			t.messages = append(t.messages, fmt.Sprintf("%s %s: %s", p.Entry.Source, p.Entry.Level, p.Entry.Text))
		}
	case "Runtime.consoleAPICalled", "Runtime.exceptionThrown":
		t.messages = append(t.messages, method+": "+string(params))
	}
}

// Messages returns what the console has shown so far: errors of scripts, requests that
// failed, and what the Content-Security-Policy has refused.
func (t *Tab) Messages() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string{}, t.messages...)
}

// do sends a command to the tab.
func (t *Tab) do(method string, params, result any) error {
	return t.chromium.do(t.session, method, params, result)
}

// Go loads a page, and waits until it is there.
func (t *Tab) Go(url string) error {
	var failed struct{ ErrorText string }
	// Answered when the new page has replaced the old one.
	if err := t.do("Page.navigate", map[string]any{"url": url}, &failed); err != nil {
		return err
	}
	if failed.ErrorText != "" {
		return fmt.Errorf("cannot load %s: %s", url, failed.ErrorText)
	}
	return t.Until(`document.readyState === "complete"`)
}

// Eval evaluates an expression, and waits for it if it is a promise. The Content-
// Security-Policy of the page does not apply to it.
func (t *Tab) Eval(expression string, result any) error {
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	params := map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true, "userGesture": true}
	if err := t.do("Runtime.evaluate", params, &r); err != nil {
		return err
	}
	if e := r.ExceptionDetails; e != nil {
		return fmt.Errorf("%s %s: in %.200s", e.Text, e.Exception.Description, expression)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(r.Result.Value, result)
}

// Until waits until an expression is true. It asks again and again, as a page that is
// replaced meanwhile can keep no promise. The last error is part of that of Until.
func (t *Tab) Until(expression string) error {
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		var is bool
		err := t.Eval("!!("+expression+")", &is)
		if is {
			return nil
		}
		if time.Now().After(deadline) {
			return errors.Join(fmt.Errorf("not true within %s: %s", patience, expression), err)
		}
	}
}

// keys are the keys that the tests press.
var keys = map[string]struct {
	code int
	text string
}{"Tab": {9, ""}, "Enter": {13, "\r"}, " ": {32, " "}}

// Press presses a key: Tab, Shift+Tab, Enter or a space.
func (t *Tab) Press(name string) error {
	modifiers := 0
	if rest, shifted := strings.CutPrefix(name, "Shift+"); shifted {
		name, modifiers = rest, 8
	}
	k, ok := keys[name]
	if !ok {
		return fmt.Errorf("%q is no key of the tests", name)
	}
	code := name
	if name == " " {
		code = "Space"
	}
	event := map[string]any{"key": name, "code": code, "windowsVirtualKeyCode": k.code, "modifiers": modifiers}
	for _, typ := range []string{"keyDown", "keyUp"} {
		event["type"] = typ
		if typ == "keyDown" && k.text != "" {
			event["text"] = k.text
		} else {
			delete(event, "text")
		}
		if err := t.do("Input.dispatchKeyEvent", event, nil); err != nil {
			return err
		}
	}
	return nil
}

// Type enters text at the place of the focus.
func (t *Tab) Type(text string) error {
	return t.do("Input.insertText", map[string]any{"text": text}, nil)
}

// Screenshot returns a picture of the whole page, as a PNG.
func (t *Tab) Screenshot() ([]byte, error) {
	var layout struct {
		CSSContentSize struct{ Width, Height float64 }
	}
	if err := t.do("Page.getLayoutMetrics", struct{}{}, &layout); err != nil {
		return nil, err
	}
	var shot struct{ Data string }
	err := t.do("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true, "clip": map[string]any{
		"x": 0, "y": 0, "width": layout.CSSContentSize.Width, "height": layout.CSSContentSize.Height, "scale": 1,
	}}, &shot)
	if err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(shot.Data)
}

// Close closes the tab.
func (t *Tab) Close() error {
	err := t.chromium.do("", "Target.disposeBrowserContext", map[string]any{"browserContextId": t.context}, nil)
	t.chromium.mu.Lock()
	defer t.chromium.mu.Unlock()
	delete(t.chromium.events, t.session)
	return err
}
