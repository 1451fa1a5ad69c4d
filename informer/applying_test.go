package informer

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/deltafifo"
	"github.com/informerkit/informerkit/reflector"
)

// exitingMetrics ends the goroutine that applies a change.
type exitingMetrics struct{ recorder }

func (m *exitingMetrics) Informer(string, func() Health) Metrics { return m }
func (m *exitingMetrics) Applied(EventCounts, time.Duration)     { goexit() }

// Nothing can be applied any more, so the informer ends, and says why.
func TestInformerEndsIfApplyingEndsItsGoroutine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, newCluster(), Options[*pod]{Name: "pods", Metrics: &exitingMetrics{}})
		err := w.inf.Run(t.Context())
		require.ErrorIs(t, err, errApplyExited)
		require.ErrorContains(t, err, `informer "pods"`)
		assert.True(t, isClosed(w.inf.Done()))
	})
}

// A reflector that gives up has written what it has read; a context that ends drops it.
func TestWhatIsQueuedIsAppliedIfTheReflectorGivesUp(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		stop    bool
		applied []int
	}{
		"the reflector gives up": {false, []int{1, 2}},
		"the context ends":       {true, []int{1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster()
				c.set("a", "x", 1)
				w := newWorld(t, c, Options[*pod]{Reflector: reflector.Options{
					Policy: func(reflector.Failure) reflector.Decision { return reflector.Stop() },
				}})
				s := w.inf.applier.progress.sources[0]
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				release := make(chan struct{})
				var applied []int
				ended := make(chan error, 1)
				go func() {
					ended <- s.run(ctx, func(_ *source[*pod], batch deltafifo.Deltas[*pod]) {
						<-release
						applied = append(applied, len(batch))
					})
				}()
				synctest.Wait() // the list is being applied
				c.set("a", "x", 2)
				c.set("a", "x", 3)
				synctest.Wait()
				if tc.stop {
					cancel()
				} else {
					c.fail(errors.New("boom"))
					c.disconnect(false)
				}
				synctest.Wait()
				assert.Empty(t, ended, "a batch is being applied")
				close(release)
				err := <-ended
				assert.Equal(t, tc.stop, err == nil, "%v", err)
				assert.Equal(t, tc.applied, applied)
			})
		})
	}
}

// exitingLater ends the goroutine that applies a change, from when the test asks for it.
type exitingLater struct {
	recorder
	exit atomic.Bool
}

func (m *exitingLater) Informer(string, func() Health) Metrics { return m }
func (m *exitingLater) Applied(EventCounts, time.Duration) {
	if m.exit.Load() {
		goexit()
	}
}

// The reflector has nothing to write, waits for a server, or for what it has written.
func TestInformerEndsAtOnceWhateverItsReflectorWaitsFor(t *testing.T) {
	t.Parallel()
	for name, then := range map[string]func(c *cluster){
		"an event":           func(*cluster) {},
		"another attempt":    func(c *cluster) { c.fail(errors.New("boom")); c.disconnect(false) },
		"room for more":      func(c *cluster) { c.set("a", "x", 3); c.set("a", "x", 4); c.set("a", "x", 5) },
		"what is known, too": func(c *cluster) { c.set("a", "x", 3); c.disconnect(true) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster()
				m := &exitingLater{}
				w := newWorld(t, c, Options[*pod]{Name: "pods", Metrics: m, QueueLimit: 1})
				ended := make(chan error, 1)
				go func() { ended <- w.inf.Run(t.Context()) }()
				<-w.inf.Synced()
				synctest.Wait()
				m.exit.Store(true)
				begin := time.Now()
				c.set("a", "x", 2)
				then(c)
				require.ErrorIs(t, <-ended, errApplyExited)
				assert.Less(t, time.Since(begin), time.Minute)
				h := w.inf.Health().Sources[0].Reflector
				assert.Equal(t, reflector.StateStopped, h.State)
			})
		})
	}
}
