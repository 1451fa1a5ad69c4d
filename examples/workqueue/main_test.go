package main

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/informerkit/informerkit/examples/exampletest"
	"github.com/informerkit/informerkit/informer/informertest"
)

func TestMain(m *testing.M) { exampletest.Main(m) }

func TestScriptConvergesAndPrintsItsSteps(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	status := app.Main(t.Context(), []string{"-once"}, nil, &out, &errs)
	assert.Zero(t, status, errs.String())
	assert.Empty(t, errs.String(), "a script that goes well needs no log")
	for _, line := range []string{
		"running: [old-1]; queued: news, [old-2], [old-3]; delayed: none",
		"the news did not wait behind the first list",
		"flaky: attempt 2 failed, tries again later: report not delivered: no answer",
		"the third attempt succeeded",
		"poison: gives up after attempt 5",
		"slow: gives up after attempt 1",
		"hears that slow is Pending for too long",
		"hears that slow is Running",
		"running: last-1; queued: last-2, last-3; delayed: flaky, news, old-1, old-2, old-3",
		"shut down and empty",
		"what was queued was worked off",
	} {
		assert.Contains(t, out.String(), line)
	}
	assert.Equal(t, 2+4, strings.Count(out.String(), "tries again later"), out.String())
	assert.Equal(t, 2, strings.Count(out.String(), "gives up"), out.String())
}

func TestInterruptedScriptHasNotConverged(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"start the controller", "queue       running", "create pod poison", "create pods last-1"} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			out := &exampletest.Watcher{Word: word, Seen: cancel}
			var errs bytes.Buffer
			assert.Equal(t, 1, app.Main(ctx, []string{"-once"}, nil, out, &errs))
			assert.Equal(t, "workqueue: interrupted before it was complete\n", errs.String())
		})
	}
}

func TestWithoutOnceTheControllerGoesOnUntilItIsStopped(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	out := &exampletest.Watcher{Word: "goes on until you press Ctrl-C", Seen: cancel}
	var errs bytes.Buffer
	assert.Zero(t, app.Main(ctx, nil, nil, out, &errs))
	assert.Empty(t, errs.String())
}

func TestInspectionShowsTheControllerUntilItHasStopped(t *testing.T) {
	t.Parallel()
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
	assert.Contains(t, shown, `"name": "enqueue"`)
	cancel()
	assert.Zero(t, <-ended)
	assert.NotContains(t, exampletest.Page(t, out.String()), `"queues"`, "nobody is there any more")
	assert.Empty(t, errs.String())
}

func TestOnAClusterItReportsWhatItFindsAndStopsCleanly(t *testing.T) {
	t.Parallel()
	server := informertest.Start(t, informertest.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	errs := &exampletest.Watcher{Word: "the cache of pods is synced", Seen: cancel}
	var out bytes.Buffer
	assert.Zero(t, app.Main(ctx, []string{"-kubeconfig", exampletest.Kubeconfig(t, server.URL())}, nil, &out, errs))
	assert.Empty(t, out.String(), "no script has run")
	assert.Contains(t, errs.String(), "examples.informerkit.dev/controller=workqueue")
	assert.Contains(t, errs.String(), "stopped")
}
