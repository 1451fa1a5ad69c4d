package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Tab is a page of the browser, without cookies of others. Close it.
type Tab struct {
	ctx context.Context

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
	t := &Tab{}
	t.ctx, _ = chromedp.NewContext(c.ctx, chromedp.WithNewBrowserContext()) // Close cancels it
	if err := chromedp.Listen(t.ctx, t.event); err != nil {
		return nil, err
	}
	return t, errors.Join(call(t, log.Enable, cdp.Empty{}), t.Show(s))
}

// do carries an action out.
func do[T any](t *Tab, action chromedp.Action[T]) (T, error) {
	ctx, cancel := context.WithTimeout(t.ctx, patience)
	defer cancel()
	return chromedp.Run(ctx, action)
}

// call sends a command whose result does not matter.
func call[P, R any](t *Tab, command cdp.Command[P, R], params P) error {
	ctx, cancel := context.WithTimeout(t.ctx, patience)
	defer cancel()
	_, err := chromedp.Call(ctx, command, params)
	return err
}

// Show changes the screen.
func (t *Tab) Show(s Screen) error {
	scheme := "light"
	if s.Dark {
		scheme = "dark"
	}
	return errors.Join(
		call(t, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: int64(s.Width), Height: int64(s.Height), DeviceScaleFactor: 1}),
		call(t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}),
		call(t, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: s.NoScript}),
		call(t, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}),
	)
}

// event notes errors.
func (t *Tab) event(event any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e := event.(type) {
	case *log.EventEntryAdded:
		if level := e.Entry.Level.String(); level != "info" && level != "verbose" {
			t.messages = append(t.messages, fmt.Sprintf("%s %s: %s", e.Entry.Source, e.Entry.Level, e.Entry.Text))
		}
	case *runtime.EventConsoleAPICalled:
		message := "console." + e.Type.String()
		for _, argument := range e.Args {
			message += fmt.Sprintf(" %s%s", argument.Value, argument.Description)
		}
		t.messages = append(t.messages, message)
	case *runtime.EventExceptionThrown:
		t.messages = append(t.messages, fmt.Sprintf("exception: %s %+v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception))
	}
}

// Messages returns what the console has shown so far: errors of scripts, requests that
// failed, and what the Content-Security-Policy has refused.
func (t *Tab) Messages() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string{}, t.messages...)
}

// Go loads a page, and waits until it is there.
func (t *Tab) Go(url string) error {
	_, err := do(t, chromedp.Navigate(url))
	return err
}

// Eval evaluates an expression, and waits for it if it is a promise. The Content-
// Security-Policy of the page does not apply to it.
func (t *Tab) Eval(expression string, result any) error {
	gesture := true
	value, err := do(t, chromedp.Evaluate[[]byte](expression, chromedp.EvalAsValue, chromedp.EvalAwaitPromise, func(p *runtime.EvaluateParams) { p.UserGesture = &gesture }))
	if err != nil || result == nil {
		return err
	}
	return json.Unmarshal(value, result)
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
var keys = map[string]string{"Tab": "\t", "Enter": "\r", " ": " "}

// Press presses a key: Tab, Shift+Tab, Enter or a space.
func (t *Tab) Press(name string) error {
	var options []chromedp.KeyOption
	name, shifted := strings.CutPrefix(name, "Shift+")
	if shifted {
		options = append(options, chromedp.KeyModifiers(chromedp.ModifierShift))
	}
	key, ok := keys[name]
	if !ok {
		return fmt.Errorf("%q is no key of the tests", name)
	}
	_, err := do(t, chromedp.KeyEvent(key, options...))
	return err
}

// Type enters text at the place of the focus.
func (t *Tab) Type(text string) error {
	return call(t, input.InsertText, input.InsertTextParams{Text: text})
}

// Screenshot returns a picture of the whole page, as a PNG.
func (t *Tab) Screenshot() ([]byte, error) {
	return do(t, chromedp.FullScreenshot(100))
}

// Close closes the tab.
func (t *Tab) Close() error {
	return chromedp.Cancel(t.ctx)
}
