package sharding

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/informer/health"
	"github.com/informerkit/informerkit/workqueue"
)

const (
	leaseDuration = 15 * time.Second // the defaults
	renewDeadline = 10 * time.Second
)

// Promise informer/sharding/1
func TestPromise1AReplicaThatIsCutOffStopsBeforeAnotherBegins(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		t := w.t
		w.start()
		w.start()
		leader := w.worker(nil)
		cut := time.Now()
		leader.conn.sever(true)
		follower := w.worker(leader)
		assert.Equal(t, ErrLost, leader.cause)
		assert.LessOrEqual(t, leader.ceased.Sub(cut), renewDeadline, "from the newest renewal on")
		assert.GreaterOrEqual(t, follower.began.Sub(leader.ceased), leaseDuration-renewDeadline-time.Second, "the gap for what is in progress")
		assert.Empty(t, w.overlaps)
		leader.conn.sever(false)
		w.settle()
		time.Sleep(time.Minute)
		assert.Len(t, leader.replica.Health().Replicas, 2, "it has joined again")
		assert.Equal(t, 2, leader.replica.Health().Sessions)
		assert.Equal(t, 1, w.logged("has lost its session"))
	})
}

// Promise informer/sharding/1
func TestPromise1AReplicaThatWasPausedHandsNothingOut(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		t := w.t
		w.start()
		w.start()
		leader := w.worker(nil)
		part := leader.part(0)
		called := 0
		guarded := Guard(part, func(context.Context, int) (workqueue.Result, error) {
			called++
			return workqueue.Result{RequeueAfter: 1}, nil
		})
		result, err := guarded(t.Context(), 1)
		require.NoError(t, err)
		require.Equal(t, workqueue.Result{RequeueAfter: 1}, result)
		// All of the process stands still: its goroutine at the next look at the clock, and
		// its connections.
		resume := make(chan struct{})
		gate := func() { <-resume }
		w.mu.Lock()
		leader.gate = gate
		w.mu.Unlock()
		leader.conn.set(func(c *conn) { c.gate = gate })
		w.worker(leader)
		require.NoError(t, part.Context().Err(), "nothing in the process has noticed")
		close(resume)
		result, err = guarded(t.Context(), 1)
		require.NoError(t, err)
		assert.Zero(t, result)
		assert.Equal(t, 1, called)
		assert.False(t, part.Held())
		w.settle()
		assert.Equal(t, ErrLost, context.Cause(part.Context()))
	})
}

// Promise informer/sharding/1
func TestPromise1ARenewalCountsFromWhenItWasSent(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		t := w.t
		m := w.prepare()
		m.conn.slow = 3 * time.Second // each way
		m.run()
		time.Sleep(time.Minute)
		synctest.Wait()
		h := m.replica.Health()
		require.Equal(t, health.ReplicaMember, h.State)
		assert.Equal(t, renewDeadline, h.Deadline.Sub(h.LastRenewal))
		sent := false
		for _, ev := range w.server.history {
			l := ev.Object.(*lease)
			sent = sent || l.Name == "group-replica-"+h.Session && l.Spec.RenewTime.Equal(new(metav1.NewMicroTime(h.LastRenewal.Truncate(time.Microsecond))))
		}
		assert.True(t, sent, "the time of the last renewal is that at which it was sent")
		assert.LessOrEqual(t, len(m.replica.session.sent), 3, "a renewal that is visible is forgotten")
	})
}

// Promise informer/sharding/1
func TestPromise1KeysInProgressAreCancelled(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		t := w.t
		w.start()
		leader := w.worker(nil)
		cut := time.Now()
		leader.conn.sever(true)
		_, err := Guard(leader.part(0), func(ctx context.Context, _ int) (workqueue.Result, error) {
			<-ctx.Done()
			return workqueue.Result{}, context.Cause(ctx)
		})(t.Context(), 1)
		assert.Equal(t, ErrLost, err)
		assert.LessOrEqual(t, time.Since(cut), renewDeadline)
	})
}

// Promise informer/sharding/1
func TestPromise1ADeadlineThatHasPassedIsNeverExtended(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDeadline(systemClock{}, time.Now().Add(time.Second))
		require.True(t, d.extend(time.Now().Add(2*time.Second)))
		require.True(t, d.extend(time.Now().Add(time.Second)), "an earlier one changes nothing")
		time.Sleep(1999 * time.Millisecond)
		require.True(t, d.ahead())
		time.Sleep(time.Millisecond)
		require.False(t, d.extend(time.Now().Add(time.Hour)))
		require.False(t, d.ahead())
		require.Zero(t, d.time())
	})
	// Workers and the replica race for it: what a worker has found stays true.
	for range 200 {
		d := newDeadline(systemClock{}, time.Now().Add(10*time.Microsecond))
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				passed := false
				for range 200 {
					ahead := d.ahead()
					if passed && ahead {
						t.Error("a deadline that had passed is ahead again")
					}
					passed = passed || !ahead
				}
			})
		}
		wg.Go(func() {
			for range 50 {
				d.extend(time.Now().Add(5 * time.Microsecond))
			}
		})
		wg.Wait()
	}
}

// Promise informer/sharding/2
func TestPromise2ACrashedReplicaIsReplacedWithinTheLeaseDuration(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		t := w.t
		w.start()
		w.start()
		for range 5 {
			leader := w.worker(nil)
			time.Sleep(1234 * time.Millisecond)
			crashed := time.Now()
			go leader.crash()
			assert.LessOrEqual(t, w.worker(leader).began.Sub(crashed), leaseDuration+time.Second)
			w.start()
		}
	})
}

// The server answers no write for a while, just when the session of a crashed replica has expired. The other
// replica asks again at intervals, and not only when it sees a change: none will come.
func TestAnExpiredSessionThatCouldNotBeEndedIsEndedLater(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		t := w.t
		leader := w.start()
		follower := w.start()
		var attempts atomic.Int64
		follower.conn.set(func(c *conn) {
			c.crash = func(at string) {
				if at == "before end a session" {
					attempts.Add(1)
				}
			}
		})
		crashed := time.Now()
		leader.crash()
		// It has renewed its session at most 2.75 seconds before: an interval, and a tenth.
		time.Sleep(time.Until(crashed.Add(leaseDuration - 3*time.Second)))
		follower.conn.set(func(c *conn) { c.deny = apierrors.NewInternalError(errors.New("etcdserver: no leader")) })
		time.Sleep(6 * time.Second)
		synctest.Wait()
		assert.Zero(t, follower.held())
		assert.ErrorContains(t, follower.replica.Health().LastError, "etcdserver: no leader")
		assert.GreaterOrEqual(t, attempts.Load(), int64(2), "it asks again")
		assert.LessOrEqual(t, attempts.Load(), int64(3), "at intervals")
		follower.conn.set(func(c *conn) { c.deny = nil })
		time.Sleep(follower.replica.opts.RenewInterval + time.Second)
		synctest.Wait()
		assert.Equal(t, 1, follower.held())
		assert.Equal(t, 1, follower.replica.Health().Sessions, "it has kept its own session")
	})
}

// Promise informer/sharding/2
func TestPromise2AHandOverTakesLessThanASecond(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		t := w.t
		w.start()
		w.start()
		for range 5 {
			leader := w.worker(nil)
			stopped := time.Now()
			leader.leave()
			assert.Equal(t, ErrHandover, leader.cause)
			assert.Less(t, w.worker(leader).began.Sub(stopped), time.Second)
			w.start()
		}
		assert.Zero(t, w.logged("lost"))
	})
}

func TestTransitionsGrowWithEachOwner(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		t := w.t
		w.start()
		w.start()
		for n := range 3 {
			leader := w.worker(nil)
			assert.Equal(t, n+1, leader.part(0).Transitions)
			leader.leave()
			w.worker(leader)
			w.start()
		}
	})
}

// A replica whose session has ended while it was in reach of the server gives the part free by deleting its
// session, but not while its work goes on.
//
// Promise informer/sharding/1
func TestPromise1ALostPartIsNotFreeWhileItsCancelledWorkGoesOn(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		t := w.t
		w.start()
		w.start()
		leader := w.worker(nil)
		leader.ignores = leaseDuration - renewDeadline - time.Second
		lost := leader.part(0).Context()
		leader.conn.set(func(c *conn) { c.blind = true })
		<-lost.Done()
		ended := time.Now()
		follower := w.worker(leader)
		assert.GreaterOrEqual(t, follower.began.Sub(ended), leader.ignores)
		assert.Less(t, follower.began.Sub(ended), leader.ignores+time.Second, "it need not wait for the session to expire")
		assert.Empty(t, w.overlaps)
		leader.conn.set(func(c *conn) { c.blind = false })
	})
}

// The wall clock is set back, and renewals get no answer: the one that is visible in the end is not
// taken for a later one.
//
// Promise informer/sharding/1
func TestPromise1RenewalsAreToldApartWhenTheClockIsSetBack(t *testing.T) {
	t.Parallel()
	s := &session{sent: map[int64]time.Time{}}
	now := time.Now()
	var stamps []time.Time
	for _, at := range []time.Time{now, now.Add(-time.Hour), now.Add(-time.Hour + time.Second), now, now.Add(time.Second)} {
		stamp := s.stamp(at)
		for _, before := range stamps {
			assert.True(t, stamp.After(before), "%v, after %v", stamp, before)
		}
		stamps = append(stamps, stamp.Time)
		assert.Equal(t, at, s.sent[stamp.UnixMicro()])
	}
	assert.Len(t, s.sent, len(stamps))
}

// A replica is paused after it has read the clock. What it sees for the first time then
// is not as old as what it has read.
//
// Promise informer/sharding/1
func TestPromise1AReplicaThatWasPausedDoesNotEndTheSessionOfAnother(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		t := w.t
		w.start()
		w.start()
		leader := w.worker(nil)
		follower := w.others(leader)[0]
		for n := range 10 { // its renewals come at any time
			resume := make(chan struct{})
			follower.paused(func() { <-resume })
			time.Sleep(leaseDuration + time.Duration(n)*250*time.Millisecond)
			close(resume)
			follower.paused(func() {})
			time.Sleep(leaseDuration)
		}
		assert.Equal(t, 1, leader.replica.Health().Sessions, "it has renewed its session all the time")
	})
}

// A replica that has not seen the Leases cannot know how many parts the group has: it writes nothing and joins
// once they are synced.
func TestAReplicaJoinsOnlyOnceItsLeasesAreSynced(t *testing.T) {
	for _, records := range []bool{false, true} {
		t.Run(fmt.Sprint("records ", records), func(t *testing.T) {
			inWorld(t, 4, func(w *world) {
				if records {
					w.start().leave()
				}
				writes := w.server.writes
				m := w.prepare()
				var sent []string
				m.conn.set(func(c *conn) { c.blind, c.crash = true, func(at string) { sent = append(sent, at) } })
				m.run()
				time.Sleep(time.Hour)
				synctest.Wait()
				assert.Empty(w.t, sent, "not even a request that is refused")
				assert.Equal(w.t, writes, w.server.writes)
				assert.Equal(w.t, health.ReplicaJoining, m.replica.Health().State)
				m.conn.set(func(c *conn) { c.blind, c.crash = false, nil })
				time.Sleep(time.Minute)
				synctest.Wait()
				assert.Equal(w.t, 4, m.held())
			})
		})
	}
}
