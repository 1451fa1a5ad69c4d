package httpclient

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	neturl "net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

// doing is Do, or that of http.Client.
type doing func(*http.Client, *http.Request) (*http.Response, error)

// Every method and every kind of redirect: the credentials stay with the server that they are for.
func TestNoRedirectCarriesCredentialsToAnotherServer(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var reached []string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		reached = append(reached, r.Method+" "+r.Header.Get("Authorization"))
	}))
	defer other.Close()
	for _, code := range []int{301, 302, 303, 307, 308} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			// Another port and another name are other servers.
			http.Redirect(w, r, strings.Replace(other.URL, "127.0.0.1", "localhost", code%2)+r.URL.Path, code)
		}))
		for _, cfg := range []*rest.Config{{Host: server.URL, BearerToken: "secret"}, {Host: server.URL, Username: "me", Password: "secret"}, {Host: server.URL}} {
			client, err := For(cfg)
			require.NoError(t, err)
			for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} {
				for _, do := range []doing{Do, (*http.Client).Do} {
					req, err := http.NewRequestWithContext(t.Context(), method, server.URL+"/apis", strings.NewReader("{}"))
					require.NoError(t, err)
					answer, err := do(client, req)
					require.NoError(t, err)
					answer.Body.Close()
					assert.Equal(t, code, answer.StatusCode, method)
				}
			}
		}
		server.Close()
	}
	assert.Empty(t, reached)
	assert.Nil(t, http.DefaultClient.CheckRedirect, "it is shared with the program")
}

func TestARedirectWithinTheServerIsFollowedOnce(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		got = append(got, r.Method+" "+r.URL.Path)
		mu.Unlock()
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/here", http.StatusTemporaryRedirect)
		case "/found":
			http.Redirect(w, r, "/here", http.StatusFound)
		case "/loop":
			http.Redirect(w, r, "/moved", http.StatusTemporaryRedirect)
		}
	}))
	defer server.Close()
	client, err := For(&rest.Config{Host: server.URL})
	require.NoError(t, err)
	for _, test := range []struct {
		method, path string
		code         int
		want         []string
	}{
		{"GET", "/moved", 200, []string{"GET /moved", "GET /here"}},
		{"GET", "/loop", 307, []string{"GET /loop", "GET /moved"}},
		{"PUT", "/moved", 200, []string{"PUT /moved", "PUT /here"}},
		{"PUT", "/found", 302, []string{"PUT /found"}}, // it would become a GET
	} {
		got = nil
		req, err := http.NewRequestWithContext(t.Context(), test.method, server.URL+test.path, http.NoBody)
		require.NoError(t, err)
		answer, err := client.Do(req)
		require.NoError(t, err)
		answer.Body.Close()
		assert.Equal(t, test.code, answer.StatusCode)
		assert.Equal(t, test.want, got)
	}
}

// Do gives what http.Client gives: the responses, the requests at the server, and the errors.
func TestDoIsAsHTTPClient(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		got = append(got, fmt.Sprintln(r.Method, r.URL.Path, r.Host, r.Header, string(body)))
		mu.Unlock()
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/here", http.StatusTemporaryRedirect)
		case "/found":
			http.Redirect(w, r, "/here", http.StatusFound)
		case "/loop":
			http.Redirect(w, r, "/loop?again", http.StatusTemporaryRedirect)
		case "/nowhere":
			w.Header().Set("Location", "http://%")
			w.WriteHeader(http.StatusTemporaryRedirect)
		case "/broken":
			panic(http.ErrAbortHandler)
		case "/wrong":
			w.WriteHeader(http.StatusConflict)
		}
		fmt.Fprint(w, "answer of ", r.URL.Path)
	}))
	defer server.Close()
	outcome := func(do doing, cfg *rest.Config, method, url string) (out []string) {
		client, err := For(cfg)
		require.NoError(t, err)
		req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader("body"))
		require.NoError(t, err)
		req.Header.Set("X-Mine", "1")
		req.Close = true // net/http repeats requests on connections that were used before
		mu.Lock()
		got = nil
		mu.Unlock()
		resp, err := do(client, req)
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			var failed *neturl.Error
			require.ErrorAs(t, err, &failed)
			return append(got, err.Error())
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return append(got, resp.Status, string(body), resp.Request.Method, resp.Request.URL.String())
	}
	withUser := strings.Replace(server.URL, "://", "://me:secret@", 1)
	for _, cfg := range []*rest.Config{
		{Host: server.URL}, {Host: server.URL, BearerToken: "secret"}, {Host: server.URL, Timeout: time.Minute},
		{Host: server.URL, WrapTransport: func(next http.RoundTripper) http.RoundTripper { return next }},
		{Host: server.URL, Transport: answerless{}},
	} {
		for _, method := range []string{"GET", "PUT", "POST", "DELETE"} {
			for _, url := range []string{
				server.URL + "/", server.URL + "/moved", server.URL + "/found", server.URL + "/loop", server.URL + "/nowhere", server.URL + "/broken",
				server.URL + "/wrong", withUser + "/", withUser + "/broken", "nonsense://host", strings.Replace(server.URL, "http:", "https:", 1),
			} {
				assert.Equal(t, outcome((*http.Client).Do, cfg, method, url), outcome(Do, cfg, method, url), "%s %s", method, url)
			}
		}
	}
}

// answerless is a transport whose responses have no body.
type answerless struct{}

func (answerless) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Status: "200 OK", ContentLength: 0, Request: req}, nil
}
