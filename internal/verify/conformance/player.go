package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"mime"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience is how long a step may take.
const patience = 30 * time.Second

// api is what one scenario or test works with: the server and a separate namespace.
type api struct {
	*testing.T
	suite   *suite
	ns      string
	ctx     context.Context
	symbols *symbols
	watches map[string]*json.Decoder
}

// api creates a namespace for a test.
func (s *suite) api(t *testing.T) *api {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	a := &api{T: t, suite: s, ctx: ctx, ns: fmt.Sprintf("conformance-%08x", rand.Uint32()), watches: map[string]*json.Decoder{}}
	a.symbols = newSymbols(a.ns)
	a.expect(http.StatusCreated, "POST", "/api/v1/namespaces", `{"metadata":{"name":"`+a.ns+`"}}`)
	t.Cleanup(func() {
		// The context of the test has ended by now.
		late := *a
		var cancel context.CancelFunc
		late.ctx, cancel = context.WithTimeout(context.Background(), patience)
		defer cancel()
		for _, resource := range []string{"/api/v1/%s/configmaps", "/api/v1/%s/pods", "/api/v1/%s/events", "/apis/apps/v1/%s/replicasets"} {
			late.do("DELETE", fmt.Sprintf(resource, "namespaces/"+a.ns), "")
		}
		late.do("DELETE", crds+"/widgets."+a.ns+".test", "")
		late.do("DELETE", "/api/v1/namespaces/"+a.ns, "")
	})
	return a
}

const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// media are the short names of content types.
var media = map[string]string{
	"merge": "application/merge-patch+json", "json": "application/json-patch+json", "strategic": "application/strategic-merge-patch+json",
	"apply": "application/apply-patch+yaml", "yaml": "application/yaml",
}

// open sends a request and leaves the body of the response to the caller.
func (a *api) open(method, target, body string, headers ...string) *http.Response {
	a.Helper()
	u := *a.suite.base
	u.Path, u.RawQuery, _ = strings.Cut(target, "?")
	req, err := http.NewRequestWithContext(a.ctx, method, u.String(), bytes.NewReader([]byte(body)))
	require.NoError(a, err)
	req.Header.Set("Accept", "application/json")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	resp, err := a.suite.client.Do(req)
	require.NoError(a, err, "%s %s", method, target)
	return resp
}

// do sends a request and returns the response, whose body is read.
func (a *api) do(method, target, body string, headers ...string) (*http.Response, []byte) {
	a.Helper()
	resp := a.open(method, target, body, headers...)
	defer func() { _ = resp.Body.Close() }()
	content, err := io.ReadAll(resp.Body)
	require.NoError(a, err, "%s %s", method, target)
	return resp, content
}

// expect sends a request that must be answered with a code, and returns the object in the answer.
func (a *api) expect(code int, method, target, body string, headers ...string) map[string]any {
	a.Helper()
	resp, content := a.do(method, target, body, headers...)
	require.Equal(a, code, resp.StatusCode, "%s %s: %s", method, target, content)
	object, _ := decodeBody(content).(map[string]any)
	return object
}

// play carries the steps of a scenario out.
func (a *api) play(s *scenario) {
	for i, st := range s.steps {
		line, repeated := strings.CutPrefix(st.line, "~")
		deadline := time.Now().Add(patience)
		for {
			before := maps.Clone(a.symbols.values)
			err := a.step(st, line)
			if err == nil {
				break
			}
			a.symbols.values = before
			if !repeated || time.Now().After(deadline) {
				a.Fatalf("step %d: %s\n%s\n  %v", i+1, st.line, st.body, err)
			}
			a.wait("10ms")
		}
	}
}

// step carries one step out, and compares the answer with the recorded one.
func (a *api) step(st *step, line string) error {
	verb, rest, _ := strings.Cut(line, " ")
	switch verb {
	case "COMPACT":
		return a.suite.opts.Compact(a.ctx)
	case "WAIT":
		a.wait(rest)
		return nil
	case "EVENT":
		var ev struct {
			Type   string
			Object any
		}
		if err := a.watches[rest].Decode(&ev); err != nil {
			return err
		}
		return a.compare(st, &answer{head: ev.Type}, ev.Object, ev.Type != "DELETED")
	case "END":
		events := []any{}
		for {
			var ev any
			if err := a.watches[rest].Decode(&ev); errors.Is(err, io.EOF) {
				return a.compare(st, &answer{head: "EOF"}, events, false)
			} else if err != nil {
				return err
			}
			events = append(events, ev)
		}
	}
	watch := ""
	if verb == "WATCH" {
		verb = "GET"
		watch, rest, _ = strings.Cut(rest, " ")
	}
	verb, short, _ := strings.Cut(verb, ":")
	headers := st.headers
	if short != "" {
		headers = append(slices.Clone(headers), "Content-Type: "+media[short])
	}
	target := a.symbols.expand(rest)
	resp := a.open(verb, target, a.symbols.expand(st.body), headers...)
	if watch != "" && resp.StatusCode == http.StatusOK {
		a.Cleanup(func() { _ = resp.Body.Close() })
		a.watches[watch] = json.NewDecoder(resp.Body)
		return a.compare(st, &answer{head: "200"}, nil, false)
	}
	defer func() { _ = resp.Body.Close() }()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	got := &answer{head: fmt.Sprint(resp.StatusCode), warnings: resp.Header.Values("Warning")}
	if _, params, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); params["as"] != "" {
		got.head += " " + resp.Header.Get("Content-Type")
	}
	slices.Sort(got.warnings)
	return a.compare(st, got, decodeBody(content), !strings.Contains(target, "dryRun"))
}

// compare compares an answer with the recorded one; stored is false for objects that
// differ from what is stored.
func (a *api) compare(st *step, got *answer, body any, stored bool) error {
	if st.answer == nil {
		return fmt.Errorf("no answer is recorded, got\n= %s\n%s", got.head, strings.ReplaceAll(compactJSON(body), a.ns, "$NS"))
	}
	if stored {
		if err := a.symbols.unchanged(body); err != nil {
			return err
		}
	}
	if st.answer.head != wildcard && st.answer.head != got.head {
		return fmt.Errorf("want %s, got %s %.1500v", st.answer.head, got.head, compactJSON(body))
	}
	if st.answer.head != wildcard && !slices.Contains(st.answer.warnings, wildcard) && !slices.Equal(st.answer.warnings, got.warnings) {
		return fmt.Errorf("want warnings %q, got %q", st.answer.warnings, got.warnings)
	}
	if st.answer.body == "" {
		return nil
	}
	if differences := a.symbols.match("", decodeBody([]byte(strings.ReplaceAll(st.answer.body, "$NS", a.ns))), body); len(differences) > 0 {
		return errors.New(strings.Join(differences, "\n  "))
	}
	return nil
}

// wait waits for a duration.
func (a *api) wait(duration string) {
	d, err := time.ParseDuration(duration)
	require.NoError(a, err)
	select {
	case <-time.After(d):
	case <-a.ctx.Done():
		require.NoError(a, a.ctx.Err())
	}
}
