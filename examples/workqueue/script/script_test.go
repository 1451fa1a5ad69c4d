package script

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/examples/demo"
	"github.com/informerkit/informerkit/examples/exampleapp"
	"github.com/informerkit/informerkit/examples/exampletest"
	"github.com/informerkit/informerkit/examples/workqueue/controller"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/workqueue"
)

func TestMain(m *testing.M) { exampletest.Main(m) }

// In a synctest bubble time advances only while all goroutines are blocked, so the
// waits of the demo are exact.
func TestWaitsOfTheStoryAreExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, err := informertest.NewServer(informertest.Options{InMemory: true})
		require.NoError(t, err)
		defer server.Close()
		var transcript strings.Builder
		require.NoError(t, play(t, server, &transcript))
		assert.Contains(t, transcript.String(), "the waits between were [50ms 100ms]\n")
		assert.Contains(t, transcript.String(), "the waits between were [50ms 100ms 200ms 400ms]\n")
	})
}

func TestStoryThatCannotGoOnSaysWhatItWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, err := informertest.NewServer(informertest.Options{InMemory: true})
		require.NoError(t, err)
		defer server.Close()
		server.Inject(informertest.Fault{Verb: "list", Times: -1, Effect: informertest.Stall()})
		server.Inject(informertest.Fault{Verb: "watch", Times: -1, Effect: informertest.Stall()})
		assert.ErrorContains(t, play(t, server, io.Discard), "not converged after 5m0s: still waiting for the first list")
	})
}

// play plays the whole demo.
func play(t *testing.T, server *informertest.Server, out io.Writer) error {
	t.Helper()
	return Play(t.Context(), &exampleapp.Env{Config: server.Config(), Once: true, Transcript: demo.NewTranscript(out)})
}

func TestDelaysThatDoNotGrowAreNoticed(t *testing.T) {
	waits := func(offsets ...time.Duration) error {
		s := &script{Transcript: demo.NewTranscript(io.Discard), asked: map[string][]time.Time{}}
		for _, d := range offsets {
			s.asked["pod"] = append(s.asked["pod"], time.Time{}.Add(d))
		}
		return s.waits("so it is", "pod", 3)(t.Context())
	}
	const d = controller.FirstDelay
	assert.NoError(t, waits(0, d, 3*d))
	assert.EqualError(t, waits(0, d, 2*d), "attempt 3 for pod came after 50ms, not 100ms")
	assert.EqualError(t, waits(0, d), "pod took 2 attempts, not 3")
}

func TestHeldReceiverTakesNothingUntilItIsReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{Transcript: demo.NewTranscript(io.Discard), asked: map[string][]time.Time{}}
		require.NoError(t, s.receive(t.Context(), controller.Report{}))
		s.busy.Store(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, s.receive(ctx, controller.Report{}), context.DeadlineExceeded)
		received := make(chan error)
		go func() { received <- s.receive(t.Context(), controller.Report{}) }()
		synctest.Wait()
		s.busy.Store(false)
		require.NoError(t, <-received)
		assert.Len(t, s.received, 2)
	})
}

func TestQueueIsDescribedInALine(t *testing.T) {
	item := func(name string, class int) workqueue.Item[key] {
		return workqueue.Item[key]{Item: key{Name: name}, PriorityClass: class}
	}
	assert.Equal(t, "empty", describe(workqueue.Inspection[key]{}))
	assert.Equal(t, "shut down and empty", describe(workqueue.Inspection[key]{ShuttingDown: true}))
	assert.Equal(t, "running: a; queued: b, [c]; delayed: none", describe(workqueue.Inspection[key]{
		Running: []workqueue.Item[key]{item("a", controller.Changed)},
		Queued:  []workqueue.Item[key]{item("b", controller.Changed), item("c", controller.Known)},
	}))
}
