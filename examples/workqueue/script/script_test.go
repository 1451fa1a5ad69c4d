package script

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/examples/demo"
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
		require.NoError(t, Run(t.Context(), server.Config(), Options{Transcript: demo.NewTranscript(&transcript)}))
		assert.Contains(t, transcript.String(), "the waits between were [50ms 100ms]\n")
		assert.Contains(t, transcript.String(), "the waits between were [50ms 100ms 200ms 400ms]\n")
		assert.Contains(t, transcript.String(), "in all: 19 adds, 19 attempts, 6 retries; ")
	})
}

func TestStoryThatCannotGoOnSaysWhatItWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, err := informertest.NewServer(informertest.Options{InMemory: true})
		require.NoError(t, err)
		defer server.Close()
		server.Inject(informertest.Fault{Verb: "list", Times: -1, Effect: informertest.Stall()})
		server.Inject(informertest.Fault{Verb: "watch", Times: -1, Effect: informertest.Stall()})
		err = Run(t.Context(), server.Config(), Options{Patience: time.Second})
		assert.EqualError(t, err, "news goes first: not converged after 1s: still waiting for the first list")
	})
}

func TestDelaysThatDoNotGrowAreNoticed(t *testing.T) {
	at := func(offsets ...time.Duration) *receiver {
		p := newReceiver(nil, func(controller.Report) {})
		for _, d := range offsets {
			p.asked["pod"] = append(p.asked["pod"], time.Time{}.Add(d))
		}
		return p
	}
	const d = controller.FirstDelay
	_, err := at(0, d, 3*d).waits("pod", 3)
	assert.NoError(t, err)
	_, err = at(0, d, 2*d).waits("pod", 3)
	assert.EqualError(t, err, "attempt 3 for pod came after 50ms, not 100ms")
	_, err = at(0, d).waits("pod", 3)
	assert.EqualError(t, err, "pod took 2 attempts, not 3")
}

func TestHeldReceiverTakesNothingUntilItIsReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newReceiver(nil, func(controller.Report) {})
		p.release() // nothing is held
		require.NoError(t, p.receive(t.Context(), controller.Report{}))
		p.hold()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, p.receive(ctx, controller.Report{}), context.DeadlineExceeded)
		received := make(chan error)
		go func() { received <- p.receive(t.Context(), controller.Report{}) }()
		synctest.Wait()
		p.release()
		require.NoError(t, <-received)
		assert.Len(t, p.received, 2)
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
