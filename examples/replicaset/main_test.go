package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/informerkit/informerkit/examples/exampletest"
	"github.com/informerkit/informerkit/informer/informertest"
)

func TestMain(m *testing.M) { exampletest.Main(m) }

func TestScriptConvergesAndPrintsItsSteps(t *testing.T) {
	var out, errs bytes.Buffer
	status := app.Main(t.Context(), []string{"-once"}, nil, &out, &errs)
	assert.Zero(t, status, errs.String())
	assert.Empty(t, errs.String(), "a script that goes well needs no log")
	for _, line := range []string{
		"create ReplicaSet web with 3 replicas", "3 pods, all ready",
		"scale web up to 5", "5 pods, all ready",
		"delete one of its pods",
		"scale web down to 2", "2 pods, all ready",
		"delete ReplicaSet web", "the set and its pods are gone",
	} {
		assert.Contains(t, out.String(), line)
	}
	created := strings.Count(out.String(), "controller  created")
	assert.GreaterOrEqual(t, created, 6, out.String())
	// On a busy machine the controller may receive a pod's deletion before that of
	// the set. It then replaces the pod, and the replacement is collected, too.
	assert.Equal(t, 3, strings.Count(out.String(), "controller  deleted"), out.String())
	assert.Equal(t, created-3-1, strings.Count(out.String(), "cluster     deleted"), out.String())
}

func TestInterruptedScriptHasNotConverged(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	out := &exampletest.Watcher{Word: "scale web up", Seen: cancel}
	var errs bytes.Buffer
	assert.Equal(t, 1, app.Main(ctx, []string{"-once"}, nil, out, &errs))
	assert.Equal(t, "replicaset: interrupted before it was complete\n", errs.String())
}

func TestWithoutOnceTheControllerGoesOnUntilItIsStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	out := &exampletest.Watcher{Word: "goes on until you press Ctrl-C", Seen: cancel}
	var errs bytes.Buffer
	assert.Zero(t, app.Main(ctx, nil, nil, out, &errs))
	assert.Empty(t, errs.String())
}

func TestInspectionShowsTheControllerUntilItHasStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	goesOn := make(chan struct{})
	out := &exampletest.Watcher{Word: "goes on until you press Ctrl-C", Seen: sync.OnceFunc(func() { close(goesOn) })}
	var errs bytes.Buffer
	ended := make(chan int)
	go func() {
		ended <- app.Main(ctx, []string{"-inspect", "127.0.0.1:0"}, nil, out, &errs)
	}()
	<-goesOn
	shown := exampletest.Page(t, out.String())
	assert.Contains(t, shown, `"name": "pods"`)
	assert.Contains(t, shown, `"name": "replicasets"`)
	assert.Contains(t, shown, `"name": "replicaset"`)
	cancel()
	assert.Zero(t, <-ended)
	assert.NotContains(t, exampletest.Page(t, out.String()), `"queues"`, "nobody is there any more")
	assert.Empty(t, errs.String())
}

// Each problem is reported in one line that says what to do. The example keeps
// retrying, because each of these can be fixed while it runs.
func TestProblemWithTheClusterIsReported(t *testing.T) {
	withoutKind := informertest.Start(t, informertest.Options{})
	for name, tc := range map[string]struct {
		server http.HandlerFunc
		url    string
		says   string
	}{
		"nobody listens": {url: "http://127.0.0.1:1", says: "is the API server running, and is this its address?"},
		"unknown kind":   {url: withoutKind.URL(), says: "CustomResourceDefinition"},
		"a web server": {
			server: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				_, _ = fmt.Fprint(w, "<html>Welcome</html>")
			},
			says: "is this the address of an API server?",
		},
		"forbidden": {
			server: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusForbidden)
				_, _ = fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"pods is forbidden"}`)
			},
			says: "add the verbs list and watch",
		},
		"unauthorized": {
			server: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusUnauthorized)
				_, _ = fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Unauthorized","code":401,"message":"Unauthorized"}`)
			},
			says: "credentials",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.server != nil {
				server := httptest.NewServer(tc.server)
				defer server.Close()
				tc.url = server.URL
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			errs := &exampletest.Watcher{Word: tc.says, Seen: cancel} // stops the example when it has said it
			status := app.Main(ctx, []string{"-kubeconfig", exampletest.Kubeconfig(t, tc.url)}, nil, &bytes.Buffer{}, errs)
			assert.Zero(t, status, "asked to stop, it does so cleanly: %s", errs)
			assert.Contains(t, errs.String(), tc.says)
		})
	}
}
