package informer

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/deltafifo"
	"github.com/informerkit/informerkit/reflector"
)

// startConsumer returns a consumer that calls process, and its queue.
func startConsumer(ctx context.Context, process func(deltafifo.Batch[*pod]) error) *consumer[*pod] {
	c := &consumer[*pod]{queue: deltafifo.New(deltafifo.Options[*pod]{Limit: 4})}
	c.start(ctx, process)
	return c
}

// enqueue writes a bookmark and wakes the consumer, as a sink does.
func enqueue(ctx context.Context, c *consumer[*pod], rv int) error {
	if err := c.queue.Bookmark(ctx, fmt.Sprint(rv)); err != nil {
		return err
	}
	c.wake()
	return nil
}

// Each write comes at the moment at which the consumer has found nothing more: it must
// either be seen by the goroutine that is about to end, or start another.
func TestConsumerOverlooksNoWriteWhileItEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var applied int
	called := make(chan struct{}, 1)
	c := startConsumer(ctx, func(batch deltafifo.Batch[*pod]) error {
		applied += len(batch.Deltas)
		called <- struct{}{}
		return nil
	})
	const writes = 50_000
	for i := range writes {
		require.NoError(t, enqueue(ctx, c, i))
		select {
		case <-called:
		case <-ctx.Done():
			require.Fail(t, "a change is not applied", "write %d of %d, state %d", i, writes, c.state.Load())
		}
	}
	cancel()
	c.stop()
	assert.Equal(t, writes, applied)
}

// The state in between: work has found the queue empty, and has not said yet that it ends.
func TestConsumerRestsOnlyIfNothingWasQueuedMeanwhile(t *testing.T) {
	t.Parallel()
	c := startConsumer(t.Context(), nil)
	var started atomic.Int64
	c.workFn = func() {
		started.Add(1)
		c.working.Done()
	}
	c.state.Store(int32(consumerRunning))
	require.NoError(t, enqueue(t.Context(), c, 1))
	assert.False(t, c.rest(), "there is something to apply")
	assert.Equal(t, consumerRunning, consumerState(c.state.Load()))
	require.NoError(t, c.queue.Pop(t.Context(), func(deltafifo.Batch[*pod]) error { return nil }))
	assert.True(t, c.rest(), "there is nothing left")
	assert.Equal(t, consumerIdle, consumerState(c.state.Load()))

	c.state.Store(int32(consumerStopped))
	require.NoError(t, enqueue(t.Context(), c, 2))
	assert.True(t, c.rest(), "it was stopped")
	assert.Equal(t, consumerStopped, consumerState(c.state.Load()))
	c.working.Wait()
	assert.Zero(t, started.Load(), "there was a goroutine already, or it had stopped")
}

func TestConsumerHasOneGoroutineForManyWriters(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const writers, each = 8, 2000
	var inside, applied atomic.Int64
	c := startConsumer(ctx, func(batch deltafifo.Batch[*pod]) error {
		assert.Equal(t, int64(1), inside.Add(1), "calls at once")
		applied.Add(int64(len(batch.Deltas)))
		inside.Add(-1)
		return nil
	})
	written := make(chan error, writers)
	for range writers {
		go func() {
			for i := range each {
				if err := enqueue(ctx, c, i); err != nil {
					written <- err
					return
				}
			}
			written <- nil
		}()
	}
	for range writers {
		require.NoError(t, <-written)
	}
	c.queue.Close()
	c.stop()
	assert.Equal(t, int64(writers*each), applied.Load())
}

func TestConsumerStopWaitsForWhatIsAppliedAndDropsTheRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		release := make(chan struct{})
		var batches []int
		c := startConsumer(ctx, func(batch deltafifo.Batch[*pod]) error {
			<-release
			batches = append(batches, len(batch.Deltas))
			return nil
		})
		require.NoError(t, enqueue(ctx, c, 1))
		synctest.Wait()
		require.NoError(t, enqueue(ctx, c, 2))
		require.NoError(t, enqueue(ctx, c, 3))
		cancel()
		stopped := make(chan struct{})
		go func() {
			c.stop()
			close(stopped)
		}()
		synctest.Wait()
		assert.False(t, isClosed(stopped), "a batch is being applied")
		close(release)
		<-stopped
		assert.Equal(t, []int{1}, batches)
		c.wake()
		synctest.Wait()
		assert.Equal(t, []int{1}, batches, "it has stopped")
	})
}

func TestConsumerDoesNothingBeforeStart(t *testing.T) {
	t.Parallel()
	c := &consumer[*pod]{queue: deltafifo.New(deltafifo.Options[*pod]{})}
	require.NoError(t, enqueue(t.Context(), c, 1))
	assert.Equal(t, consumerStopped, consumerState(c.state.Load()))
	assert.Equal(t, 1, c.queue.Len())
	c.stop()
}

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
