package informer

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/types"
)

func TestResyncDeliversEachObjectExactlyOncePerPeriod(t *testing.T) {
	t.Parallel()
	c := newCluster()
	for i := range 500 {
		c.set("a", fmt.Sprint(i), 1)
	}
	inWorld(t, c, Options[*pod]{}, func(t *testing.T, w *world) {
		const period = 7 * time.Minute
		begin := time.Now()
		turns := map[types.NamespacedName][]time.Duration{}
		w.add(HandlerFunc[*pod](func(e Event[*pod]) {
			if e.Origin == Resync {
				assert.Same(t, e.Old, e.New)
				turns[e.Key] = append(turns[e.Key], time.Since(begin))
			}
		}), HandlerOptions{ResyncPeriod: period})
		quiet, _ := w.join(HandlerOptions{})
		quiet.take()

		time.Sleep(5 * period)
		synctest.Wait()
		at := map[time.Duration]int{}
		assert.Len(t, turns, 500)
		for _, times := range turns {
			if assert.Len(t, times, 5) {
				assert.LessOrEqual(t, times[0], period)
				for i, d := range times {
					assert.Equal(t, times[0]+time.Duration(i)*period, d, "it does not drift")
				}
				at[times[0]]++
			}
		}
		assert.Greater(t, len(at), 50, "the objects are spread over the period")
		assert.Empty(t, quiet.take(), "only the handler that asked gets it")
		assert.Zero(t, w.inf.applier.progress.sources[0].queue.Len())
	})
}

func TestResyncOfASlowHandlerDeliversWhatItHasSeen(t *testing.T) {
	t.Parallel()
	c := newCluster()
	inWorld(t, c, Options[*pod]{}, func(t *testing.T, w *world) {
		o, _ := w.join(HandlerOptions{ResyncPeriod: 10 * time.Second, Bound: 50}) // checks every event
		o.each = func(Event[*pod]) { time.Sleep(20 * time.Millisecond) }
		for n := range 3000 {
			w.set("a", fmt.Sprint(n%40), n)
			if n%4 == 0 {
				w.remove("a", fmt.Sprint(n%9))
			}
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		requireSame(t, c, w.inf, o)
		resyncs := 0
		for _, e := range o.events {
			if e.Origin == Resync {
				resyncs++
			}
		}
		assert.Greater(t, resyncs, 100, "a handler that is never quite done is resynced too")
	})
}

func TestResyncEndsWithTheRegistration(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.set("a", "x", 1)
	inWorld(t, c, Options[*pod]{}, func(t *testing.T, w *world) {
		o, r := w.join(HandlerOptions{ResyncPeriod: time.Second})
		time.Sleep(5500 * time.Millisecond)
		assert.Equal(t, 6, o.len())
		r.Remove()
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, 6, o.len())
	})
}

func TestResyncsOfSeveralHandlersAreIndependent(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.set("a", "x", 1)
	inWorld(t, c, Options[*pod]{}, func(t *testing.T, w *world) {
		every1, _ := w.join(HandlerOptions{ResyncPeriod: time.Second})
		every7, _ := w.join(HandlerOptions{ResyncPeriod: 7 * time.Second})
		time.Sleep(70*time.Second + 100*time.Millisecond)
		assert.Equal(t, 1+70, every1.len())
		assert.Equal(t, 1+10, every7.len())
	})
}

// A period that is no multiple of its steps does not shift them either.
func TestResyncDoesNotDriftByFractions(t *testing.T) {
	t.Parallel()
	c := newCluster()
	for i := range 20 {
		c.set("a", fmt.Sprint(i), 1)
	}
	inWorld(t, c, Options[*pod]{}, func(t *testing.T, w *world) {
		const period = 7*time.Second + 3*time.Nanosecond
		last := map[types.NamespacedName]time.Time{}
		n := 0
		w.add(HandlerFunc[*pod](func(e Event[*pod]) {
			if before, ok := last[e.Key]; ok {
				n++
				assert.Equal(t, period, time.Since(before))
			}
			if e.Origin == Resync {
				last[e.Key] = time.Now()
			}
		}), HandlerOptions{ResyncPeriod: period})
		time.Sleep(100 * period)
		synctest.Wait()
		assert.GreaterOrEqual(t, n, 20*98)
	})
}

// Nothing of a resync is left behind a handler that is removed, in a call or not.
func TestTimerOfARemovedHandlerIsStopped(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.set("a", "x", 1)
	inWorld(t, c, Options[*pod]{}, func(t *testing.T, w *world) {
		gate := make(chan struct{})
		_, idle := w.join(HandlerOptions{ResyncPeriod: time.Minute})
		busy := w.add(HandlerFunc[*pod](func(e Event[*pod]) {
			if e.Origin == Resync {
				<-gate
			}
		}), HandlerOptions{ResyncPeriod: time.Second})
		time.Sleep(2500 * time.Millisecond) // between two steps
		idle.Remove()
		busy.Remove()
		close(gate)
		for _, r := range []*Registration{idle, busy} {
			<-r.Done()
			resync := r.runner.(*runner[*pod]).resync
			assert.False(t, resync.timer.Stop(), "the timer still ran")
			resync.begin()
			assert.False(t, resync.timer.Stop(), "begun after the end")
		}
	})
}
