package workqueue_test

import (
	"context"
	"flag"
	"log/slog"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

var (
	seedFlag = flag.Uint64("workqueue.seed", 0, "seed of the random tests; 0 takes a new one")
	opsFlag  = flag.Int("workqueue.ops", 20_000, "operations per configuration in the random tests")
)

func TestMain(m *testing.M) {
	flag.Parse()
	slog.SetDefault(slog.New(slog.DiscardHandler)) // most tests are not about logs
	goleak.VerifyTestMain(m)
}

// newRand returns a source of randomness and logs how to get the same again.
func newRand(t *testing.T) *rand.Rand {
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("repeat with: go test -run '^%s$' ./workqueue -workqueue.seed=%d -workqueue.ops=%d", t.Name(), seed, *opsFlag)
	return rand.New(rand.NewPCG(seed, 1))
}

// advance lets d pass on a bubble's clock, and everything due happen.
func advance(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// addAll adds items in their order.
func addAll[T any](q interface{ Add(item T) }, items []T) {
	for _, item := range items {
		q.Add(item)
	}
}

type getter[T any] interface {
	Get(context.Context) (T, bool)
}

// mustGet takes the next item, which must be there at once.
func mustGet[T any](t *testing.T, q getter[T]) T {
	t.Helper()
	item, ok := q.Get(t.Context())
	require.True(t, ok, "Get returned false")
	return item
}

// takeAll takes and finishes everything queued, in order.
func takeAll[T comparable](t *testing.T, q interface {
	getter[T]
	Len() int
	Done(item T)
},
) []T {
	t.Helper()
	var items []T
	for q.Len() > 0 {
		item := mustGet(t, q)
		items = append(items, item)
		q.Done(item)
	}
	return items
}
