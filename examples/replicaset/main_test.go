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

	"github.com/informerkit/informerkit/examples/internal/exampleapp"
	"github.com/informerkit/informerkit/examples/internal/exampletest"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestScenarioConvergesAndTellsItsStory(t *testing.T) {
	var out, errs bytes.Buffer
	status := exampleapp.Run(t.Context(), "replicaset", "", []string{"-once"}, &out, &errs, run)
	assert.Zero(t, status, errs.String())
	assert.Empty(t, errs.String(), "a story that goes well needs no log")
	for _, line := range []string{
		"create ReplicaSet web with 3 replicas", "3 pods, all ready",
		"scale web up to 5", "5 pods, all ready",
		"delete one of its pods",
		"scale web down to 2", "2 pods, all ready",
		"delete ReplicaSet web", "the set and its pods are gone",
		"the end: every step converged",
	} {
		assert.Contains(t, out.String(), line)
	}
	exampletest.CheckTour(t, "../README.md", "replicaset", out.String())
	created := strings.Count(out.String(), "controller  created")
	assert.GreaterOrEqual(t, created, 6, out.String())
	// On a busy machine the controller may hear that a pod is gone before it hears
	// that the set is. It replaces the pod then, and that one is collected, too.
	assert.Equal(t, 3, strings.Count(out.String(), "controller  deleted"), out.String())
	assert.Equal(t, created-3-1, strings.Count(out.String(), "collector   deleted"), out.String())
}

func TestStoryThatIsInterruptedHasNotConverged(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	out := &exampletest.Watcher{Word: "scale web up", Seen: cancel}
	var errs bytes.Buffer
	assert.Equal(t, 1, exampleapp.Run(ctx, "replicaset", "", []string{"-once"}, out, &errs, run))
	assert.Equal(t, "replicaset: interrupted before the scenario ended\n", errs.String())
}

func TestWithoutOnceTheControllerGoesOnUntilItIsStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	out := &exampletest.Watcher{Word: "the controller goes on", Seen: cancel}
	var errs bytes.Buffer
	assert.Zero(t, exampleapp.Run(ctx, "replicaset", "", nil, out, &errs, run))
	assert.Empty(t, errs.String())
}

func TestInspectionShowsTheControllerUntilItHasStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	goesOn := make(chan struct{})
	out := &exampletest.Watcher{Word: "the controller goes on", Seen: sync.OnceFunc(func() { close(goesOn) })}
	var errs bytes.Buffer
	ended := make(chan int)
	go func() {
		ended <- exampleapp.Run(ctx, "replicaset", "", []string{"-inspect", "127.0.0.1:0"}, out, &errs, run)
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

// Each problem is told in one line that says what to do, and the example goes
// on trying: all of these may be mended while it runs.
func TestProblemWithTheClusterIsTold(t *testing.T) {
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
			status := exampleapp.Run(ctx, "replicaset", "", []string{"-kubeconfig", exampletest.Kubeconfig(t, tc.url)}, &bytes.Buffer{}, errs, run)
			assert.Zero(t, status, "asked to stop, it does so cleanly: %s", errs)
			assert.Contains(t, errs.String(), tc.says)
		})
	}
}
