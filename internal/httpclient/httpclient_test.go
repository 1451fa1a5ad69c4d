package httpclient

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

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
				req, err := http.NewRequestWithContext(t.Context(), method, server.URL+"/apis", strings.NewReader("{}"))
				require.NoError(t, err)
				answer, err := client.Do(req)
				require.NoError(t, err)
				answer.Body.Close()
				assert.Equal(t, code, answer.StatusCode, method)
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
