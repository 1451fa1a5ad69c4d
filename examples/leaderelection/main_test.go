package main

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/informerkit/informerkit/examples/exampletest"
)

func TestMain(m *testing.M) { exampletest.Main(m) }

// The page of the demo shows all of its replicas: the one that leads, the one that was
// stopped, and the one that is cut off.
func TestPageOfTheDemoShowsWhoLeads(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	goesOn := make(chan struct{})
	out := &exampletest.Watcher{Word: "goes on until", Seen: sync.OnceFunc(func() { close(goesOn) })}
	var errs bytes.Buffer
	ended := make(chan int, 1)
	go func() { ended <- app().Main(ctx, []string{"-inspect", "127.0.0.1:0"}, nil, out, &errs) }()
	select {
	case <-goesOn:
	case status := <-ended:
		t.Fatalf("it has ended with status %d: %s", status, errs.String())
	}
	page := exampletest.Page(t, out.String())
	for _, name := range []string{"replica-a", "replica-b", "replica-c"} {
		assert.Contains(t, page, `"identity": "`+name+`"`)
	}
	assert.Contains(t, page, `"leader": "replica-c-`)
	cancel()
	assert.Zero(t, <-ended, errs.String())
	assert.Empty(t, errs.String())
}

func TestWrongLeaseDurationIsReportedInOneLine(t *testing.T) {
	t.Parallel()
	var errs bytes.Buffer
	args := []string{"-kubeconfig", exampletest.Kubeconfig(t, "http://127.0.0.1:1"), "-inspect", "off", "-lease-duration", "10ms"}
	assert.Equal(t, 1, app().Main(t.Context(), args, nil, &bytes.Buffer{}, &errs))
	assert.Contains(t, errs.String(), "LeaseDuration is 10ms; use 1s to 1h0m0s")
	assert.Equal(t, 1, strings.Count(errs.String(), "\n"), errs.String())
}
