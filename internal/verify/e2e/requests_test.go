package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/internal/verify/e2e/controlplane"
)

// The requests of testdata/requests are answered alike: same codes, messages, warnings
// and objects. What differs is listed in testdata/requests/differences.txt, with the
// reason; README.md of informertest lists the reasons.
//
// A file has macros ("@NAME text"), scenarios ("## title"), and requests: a line "METHOD
// path" or "METHOD:media path", then the body up to an empty line. $NS is a namespace
// of the scenario's own. REQUESTS=title runs the matching scenarios only.
func TestBothServersAnswerRequestsAlike(t *testing.T) {
	t.Parallel()
	cp := dedicated(t, controlplane.Options{})
	embedded := informertest.Start(t, informertest.Options{Scheme: scheme.Scheme})
	reasons := differences(t)
	requests, differing := 0, map[string]bool{}
	for i, s := range requestScenarios(t) {
		if only := os.Getenv("REQUESTS"); only != "" && !regexp.MustCompile(only).MatchString(s.title) {
			continue
		}
		ns := fmt.Sprintf("requests-%d", i)
		want, got := s.send(t, cp.Config(), ns), s.send(t, embedded.Config(), ns)
		requests += len(want)
		for j := range want {
			name := fmt.Sprintf("%s/%d", s.title, j+1)
			if os.Getenv("REQUESTS") != "" {
				t.Logf("%s %s%s", name, s.requests[j].line, brief("cluster", want[j].object().(map[string]any)))
			}
			diff := difference("", want[j].object(), got[j].object())
			if diff == "" {
				continue
			}
			differing[name] = true
			if reasons[name] == "" {
				t.Errorf("%s %s\n  %s", name, s.requests[j].line, diff)
			}
		}
	}
	if os.Getenv("REQUESTS") != "" {
		return
	}
	for name := range reasons {
		assert.True(t, differing[name], "%s is listed as different, and is not", name)
	}
	assert.GreaterOrEqual(t, requests, 300)
	t.Logf("%d requests, %d answered differently", requests, len(differing))
}

// Each reason stands in README.md of informertest, below "What is left out".
func TestKnownDifferencesAreInTheReadme(t *testing.T) {
	text, err := os.ReadFile("../../../informer/informertest/README.md")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(text), "\n## What is left out\n")
	require.True(t, found)
	section, _, _ := strings.Cut(rest, "\n## ")
	section = strings.Join(strings.Fields(section), " ")
	for name, reason := range differences(t) {
		assert.Contains(t, section, reason, name)
	}
}

// differences reads the known differences and their reasons.
func differences(t *testing.T) map[string]string {
	text, err := os.ReadFile("testdata/requests/differences.txt")
	require.NoError(t, err)
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, reason, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && line[0] != '#' {
			out[name] = reason
		}
	}
	return out
}

type requestScenario struct {
	title    string
	requests []rawRequest
}

type rawRequest struct{ line, body string }

var macro = regexp.MustCompile(`\$[A-Z]+`)

// requestScenarios reads the files, in the order of their names.
func requestScenarios(t *testing.T) []requestScenario {
	files, err := filepath.Glob("testdata/requests/*.requests")
	require.NoError(t, err)
	var out []requestScenario
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		macros := map[string]string{}
		expand := func(s string) string {
			return macro.ReplaceAllStringFunc(s, func(name string) string { return cmp.Or(macros[name[1:]], name) })
		}
		body := false
		for line := range strings.Lines(string(text)) {
			line = strings.TrimRight(line, "\n")
			switch {
			case line == "":
				body = false
			case body:
				r := &out[len(out)-1].requests
				(*r)[len(*r)-1].body += expand(line) + "\n"
			case strings.HasPrefix(line, "@"):
				name, value, _ := strings.Cut(line[1:], " ")
				macros[name] = expand(value)
			case strings.HasPrefix(line, "## "):
				out = append(out, requestScenario{title: line[3:]})
			default:
				r := &out[len(out)-1].requests
				*r = append(*r, rawRequest{line: expand(line)})
				body = true
			}
		}
	}
	return out
}

// answer is what a server said.
type answer struct {
	code     int
	warnings []string
	body     any
}

// object is the answer as one value, to be compared.
func (a answer) object() any {
	return map[string]any{"code": a.code, "warnings": strings.Join(a.warnings, "\n"), "body": a.body}
}

var requestMedia = map[string]string{
	"merge": "application/merge-patch+json", "json": "application/json-patch+json", "strategic": "application/strategic-merge-patch+json",
	"apply": "application/apply-patch+yaml", "yaml": "application/yaml",
}

// send creates the namespace and carries the requests out.
func (s requestScenario) send(t *testing.T, cfg *rest.Config, ns string) []answer {
	client, err := rest.HTTPClientFor(cfg)
	require.NoError(t, err)
	do := func(line, body string) answer {
		method, path, _ := strings.Cut(strings.ReplaceAll(line, "$NS", ns), " ")
		method, media, _ := strings.Cut(method, ":")
		host := cfg.Host
		if !strings.HasPrefix(host, "http") {
			host = "https://" + host
		}
		req, err := http.NewRequest(method, host+path, strings.NewReader(strings.ReplaceAll(body, "$NS", ns)))
		require.NoError(t, err, line)
		req.Header.Set("Content-Type", cmp.Or(requestMedia[media], media, "application/json"))
		req.Header.Set("User-Agent", "requests/1")
		res, err := client.Do(req)
		require.NoError(t, err)
		defer func() { _ = res.Body.Close() }()
		raw, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		a := answer{code: res.StatusCode, warnings: res.Header.Values("Warning")}
		slices.Sort(a.warnings)
		if json.Unmarshal(raw, &a.body) != nil {
			a.body = string(raw)
		}
		a.body = steady(a.body, "")
		return a
	}
	do("POST /api/v1/namespaces", `{"metadata":{"name":"$NS"}}`)
	var out []answer
	for _, r := range s.requests {
		out = append(out, do(r.line, r.body))
		if strings.Contains(r.line, "POST") && strings.HasSuffix(r.line, "customresourcedefinitions") { // a cluster takes a moment
			require.Eventually(t, func() bool { return do("GET /apis/$NS.test/v1/namespaces/$NS/gizmos", "").code == 200 }, time.Minute, 10*time.Millisecond)
		}
	}
	return out
}

var unsteady = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z|\b10\.[0-9]+\.[0-9]+\.[0-9]+\b|\b3[0-2][0-9]{3}\b`)

var recordVersion = regexp.MustCompile(`record \([0-9]+\)`)

var wholeObject = regexp.MustCompile(`Invalid value: "\{\\?"apiVersion.*\}": `)

// steady replaces what differs from one run to the next.
func steady(v any, name string) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			if list, ok := v[k].([]any); ok && k == "causes" { // metadata is validated several times
				slices.SortFunc(list, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
				v[k] = slices.CompactFunc(list, func(a, b any) bool { return reflect.DeepEqual(a, b) })
			}
			switch k {
			case "resourceVersion", "uid", "creationTimestamp", "time", "managedFields", "remainingItemCount", "continue":
				delete(v, k)
			default:
				v[k] = steady(v[k], k)
			}
		}
	case []any:
		for i := range v {
			v[i] = steady(v[i], name)
		}
	case string:
		// The text of a whole object, in the order of the members of its Go type.
		v = recordVersion.ReplaceAllString(wholeObject.ReplaceAllString(v, "Invalid value: …"), "record …")
		return unsteady.ReplaceAllString(v, "…")
	case float64:
		if name == "nodePort" || name == "healthCheckNodePort" {
			return "…"
		}
	}
	return v
}

// brief is the gist of an answer.
func brief(who string, a map[string]any) string {
	body := a["body"]
	if status, ok := body.(map[string]any); ok && status["kind"] == "Status" {
		body = status["message"]
	}
	return fmt.Sprintf("\n    %s: %v %.600v %v", who, a["code"], body, a["warnings"])
}

// difference describes where two values differ first, by path; empty if nowhere.
func difference(path string, want, got any) string {
	w, wok := want.(map[string]any)
	g, gok := got.(map[string]any)
	if path == "" && w["code"] != g["code"] {
		return brief("cluster", w) + brief("here   ", g)
	}
	if !wok || !gok {
		if reflect.DeepEqual(want, got) {
			return ""
		}
		text := func(v any) string { b, _ := json.Marshal(v); return string(b) }
		return fmt.Sprintf("%s\n    cluster: %.1500s\n    here:    %.1500s", path, text(want), text(got))
	}
	var out []string
	keys := maps.Clone(w)
	maps.Copy(keys, g)
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if d := difference(path+"."+k, w[k], g[k]); d != "" {
			out = append(out, d)
		}
	}
	return strings.Join(out, "\n  ")
}
