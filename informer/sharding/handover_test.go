package sharding

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Promise informer/sharding/5
func TestPromise5APartIsFreeWhenItsWorkHasReturned(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		t := w.t
		first := w.start()
		first.linger = 5 * time.Second // a key takes its time
		joined := time.Now()
		second := w.start()
		assert.Zero(t, second.held())
		time.Sleep(4 * time.Second)
		synctest.Wait()
		assert.Equal(t, 1, second.held())
		assert.GreaterOrEqual(t, second.began.Sub(joined), first.linger)
		assert.Empty(t, w.overlaps)
	})
}

// Promise informer/sharding/5
func TestPromise5AHandOverThatTakesTooLongIsCancelled(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		t := w.t
		w.opts.DrainTimeout = 20 * time.Second
		first := w.start()
		first.linger = time.Hour
		joined := time.Now()
		second := w.start()
		time.Sleep(30 * time.Second)
		assert.Equal(t, 1, second.held())
		assert.GreaterOrEqual(t, second.began.Sub(joined), 20*time.Second)
		assert.Equal(t, 1, w.logged("a hand-over has taken too long"))
	})
}

// Promise informer/sharding/5
func TestPromise5APartIsNotFreeWhileItsCancelledWorkGoesOn(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		t := w.t
		w.opts.DrainTimeout = 20 * time.Second
		first := w.start()
		first.linger, first.ignores = time.Hour, 40*time.Second
		joined := time.Now()
		second := w.start()
		time.Sleep(50 * time.Second)
		synctest.Wait()
		assert.Equal(t, 1, w.logged("a hand-over has taken too long"))
		assert.Zero(t, second.held(), "the work was cancelled, and has not returned")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		assert.Equal(t, 1, second.held())
		assert.GreaterOrEqual(t, second.began.Sub(joined), time.Minute)
		assert.Empty(t, w.overlaps)
	})
}

// The replica that was to have a part leaves again before the hand-over has ended: the part stays where it is,
// and is worked on again when the work that was asked to return has, after the drain timeout at the latest.
//
// Promise informer/sharding/5
func TestPromise5AHandOverThatIsNotNeededAnyMoreEnds(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		t := w.t
		w.opts.DrainTimeout = 20 * time.Second
		first := w.start()
		first.linger = time.Hour
		second := w.start()
		second.leave()
		time.Sleep(15 * time.Second)
		synctest.Wait()
		assert.Equal(t, 2, first.called())
		time.Sleep(10 * time.Second)
		synctest.Wait()
		assert.Equal(t, 3, first.called())
		assert.Equal(t, 2, first.held())
		assert.Empty(t, w.overlaps)
		assert.Zero(t, second.called())
	})
}

// A request that gives a part up gets no answer, and arrives much later. Meanwhile the
// replica that was to have the part has left again.
//
// Promise informer/sharding/5
func TestPromise5APartThatMayHaveBeenGivenUpIsNotWorkedOn(t *testing.T) {
	for n := range 20 { // the late request arrives at a random time
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			inWorld(t, 2, func(w *world) {
				t := w.t
				first := w.start()
				first.conn.rnd = rand.New(rand.NewPCG(uint64(n), 2))
				first.conn.set(func(c *conn) { c.stuck, c.late = "group-part-", 1 })
				second := w.prepare().run()
				for first.held() == 2 {
					time.Sleep(10 * time.Millisecond)
				}
				second.leave()
				time.Sleep(renewDeadline/2 - 100*time.Millisecond)
				first.conn.set(func(c *conn) { c.stuck = "" })
				time.Sleep(30 * time.Second)
				synctest.Wait()
				assert.Equal(t, 2, first.held())
				assert.Zero(t, first.replica.Health().Lost)
			})
		})
	}
}

func TestWorkThatFailsIsCalledAgain(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		t := w.t
		m := w.prepare()
		m.fail = errors.New("no such luck")
		m.run()
		time.Sleep(time.Minute)
		synctest.Wait()
		w.mu.Lock()
		assert.Greater(t, m.calls, 4)
		assert.Less(t, m.calls, 10, "the delay grows")
		m.fail = nil
		w.mu.Unlock()
		assert.Equal(t, 1, w.logged("no such luck"), "one line a minute")
		require.ErrorContains(t, m.replica.Health().LastError, "no such luck")
		w.worker(nil)
		time.Sleep(time.Minute)
		assert.Equal(t, 1, m.held())
	})
}
