package demo_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/demo"
)

// lines returns the lines of a Transcript's output without their times.
func lines(out string) (lines []string) {
	for line := range strings.Lines(out) {
		if fields := strings.Fields(line); len(fields) > 1 {
			lines = append(lines, strings.Join(fields[1:], " "))
		}
	}
	return lines
}

func TestLinesBehindAReservedOneWaitForIt(t *testing.T) {
	var out strings.Builder
	s := demo.NewTranscript(&out)
	cause, dropped := s.Reserve(), s.Reserve()
	s.Say("node", "effect")
	assert.Empty(t, out.String())
	dropped.Drop()
	cause.Say("controller", "cause")
	cause.Drop() // too late
	assert.Equal(t, []string{"controller cause", "node effect"}, lines(out.String()))
}

func TestWriteIsPrintedBeforeWhatFollowsFromIt(t *testing.T) {
	var out strings.Builder
	s := demo.NewTranscript(&out)
	cfg := &rest.Config{Transport: demo.Transport(func(r *http.Request) (*http.Response, error) {
		s.Say("watcher", "sees the effect") // before the writer has the answer
		status := http.StatusOK
		if strings.HasSuffix(r.URL.Path, "refused") {
			status = http.StatusConflict
		}
		return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(`{"metadata":{"name":"web-1"}}`))}, nil
	})}
	transport, err := rest.TransportFor(demo.PrintWrites(cfg, s, "controller", func(w demo.Write) string {
		if w.Subresource == "scale" {
			return ""
		}
		return w.Done()
	}))
	require.NoError(t, err)
	for _, request := range []struct{ method, path string }{
		{"POST", "/api/v1/namespaces/default/pods"},
		{"PUT", "/api/v1/namespaces/default/pods/web-1/status"},
		{"PUT", "/apis/apps/v1/namespaces/default/deployments/web-1/scale"},
		{"PUT", "/api/v1/namespaces/default/pods/refused"},
		{"DELETE", "/api/v1/namespaces/web-1"},
		{"GET", "/api/v1/namespaces/web-1"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), request.method, "http://server"+request.path, nil)
		require.NoError(t, err)
		answer, err := transport.RoundTrip(r)
		require.NoError(t, err)
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		assert.Contains(t, string(body), "web-1", "the client reads the answer, too")
	}
	assert.Equal(t, []string{
		"controller created pod web-1", "watcher sees the effect",
		"controller updated the status of pod web-1", "watcher sees the effect",
		"watcher sees the effect", "watcher sees the effect",
		"controller deleted namespace web-1", "watcher sees the effect",
		"watcher sees the effect",
	}, lines(out.String()))
}
