package scripted_test

import (
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/internal/memnet"
	"github.com/informerkit/informerkit/internal/verify/scripted"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// get sends a request and returns the status and the body of the answer.
func get(t *testing.T, cfg *rest.Config, query string) (code int, body string) {
	t.Helper()
	client, err := rest.HTTPClientFor(cfg)
	require.NoError(t, err)
	resp, err := client.Get(cfg.Host + "/api/v1/configmaps" + query)
	require.NoError(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(b)
}

func TestEachVerbHasItsAnswersInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted.Server{
			List: scripted.InTurn(scripted.Lists("10", scripted.ConfigMap("a", "1")), scripted.Fails(410, metav1.StatusReasonExpired)),
			Watch: func(w http.ResponseWriter, r *http.Request, n int) {
				scripted.Send(w, "BOOKMARK", scripted.Bookmark(strings.Repeat("1", n), false))
				require.True(t, scripted.Linger(r, time.Hour))
			},
		}
		cfg := s.Config(t)
		_, body := get(t, cfg, "?resourceVersion=0")
		require.Contains(t, body, `"items":[{"metadata":{"name":"a"`)
		for range 2 {
			code, body := get(t, cfg, "?resourceVersion=10")
			require.Equal(t, 410, code)
			require.Contains(t, body, `"reason":"Expired"`)
		}
		for _, rv := range []string{`"1"`, `"11"`} {
			_, body := get(t, cfg, "?watch=true&resourceVersion=10")
			require.Contains(t, body, `"resourceVersion":`+rv)
		}
		code, _ := get(t, cfg, "?watch=1&sendInitialEvents=true")
		require.Equal(t, http.StatusTeapot, code, "it has no script")
		require.Equal(t, "list@0 list@10 list@10 watch@10 watch@10 watchlist@", s.Verbs())
		require.Equal(t, time.Hour, s.Requests()[4].At)
		require.Equal(t, 2*time.Hour, time.Since(s.Started()))
	})
}

func TestDialsAreCountedAndRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted.Server{List: scripted.Lists("10"), Refuse: 1}
		cfg := s.Config(t)
		client, err := rest.HTTPClientFor(cfg)
		require.NoError(t, err)
		refused := func() {
			t.Helper()
			_, err := client.Get(cfg.Host) //nolint:bodyclose // there is none
			require.ErrorIs(t, err, syscall.ECONNREFUSED)
		}
		refused()
		get(t, cfg, "")
		require.Equal(t, 2, s.Dials())
		client.CloseIdleConnections()
		s.RefuseDials(memnet.Always)
		refused()
		refused()
		require.Equal(t, 4, s.Dials())
	})
}

func TestAResponseIsReadFromItsBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body, server := io.Pipe()
		go func() {
			_, _ = io.WriteString(server, "hello")
			_ = server.Close()
		}()
		code, got := get(t, scripted.Response("text/plain", body), "")
		require.Equal(t, http.StatusOK, code)
		require.Equal(t, "hello", got)
	})
}
