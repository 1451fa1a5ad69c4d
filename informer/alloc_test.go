package informer

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBurstAllocatesLittle counts the allocations from the queue of changes to
// the last handler, for events that come in a burst.
func TestBurstAllocatesLittle(t *testing.T) {
	for _, handlers := range []int{1, 10, 100} {
		t.Run(fmt.Sprintf("handlers=%d", handlers), func(t *testing.T) {
			const events, keys = 10_000, 1000
			inf := running(t, keys)
			var delivered atomic.Int64
			for range handlers {
				r, err := inf.AddHandler(HandlerFunc[*pod](func(e Event[*pod]) {
					if e.Origin == Watch {
						delivered.Add(1)
					}
				}), HandlerOptions{Lossless: true})
				require.NoError(t, err)
				<-r.Synced()
			}
			pods := make([]*pod, events)
			for i := range pods {
				pods[i] = benchPod(i%keys, i+2)
			}
			mallocs := func() uint64 {
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				return m.Mallocs
			}

			inf.applier.mu.Lock() // until the burst is complete
			before := mallocs()
			for _, p := range pods {
				require.NoError(t, inf.applier.progress.sources[0].sink().Update(context.Background(), p))
			}
			inf.applier.mu.Unlock()
			for delivered.Load() < int64(handlers*events) {
				runtime.Gosched()
			}
			per := float64(mallocs()-before) / events
			t.Logf("%.2f allocations per event", per)
			require.LessOrEqual(t, per, 2.0)
		})
	}
}
