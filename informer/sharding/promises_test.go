package sharding

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
		assert.Equal(t, 1, w.logged("lost the session"))
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
		require.Equal(t, StateMember, h.State)
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

// Promise informer/sharding/3
func TestPromise3AChangeOfOneReplicaMovesFewParts(t *testing.T) {
	for _, parts := range []int{1, 7, 64} {
		t.Run(fmt.Sprint("parts=", parts), func(t *testing.T) {
			inWorld(t, parts, func(w *world) {
				t := w.t
				moved := func() (n int) {
					for _, m := range w.members {
						n += int(m.replica.Health().Took)
					}
					return n
				}
				var present []*member
				for n := range 7 {
					before := moved()
					present = append(present, w.start())
					assert.LessOrEqual(t, moved()-before, ceil(parts, n+1), "the replica %d has joined", n+1)
					w.checkShares(present)
				}
				for n := 7; n > 1; n-- {
					before := moved()
					if n%2 == 0 {
						present[0].leave()
					} else {
						present[0].crash()
						time.Sleep(leaseDuration)
					}
					present = present[1:]
					w.settle()
					assert.LessOrEqual(t, moved()-before, ceil(parts, n), "one of %d has left", n)
					w.checkShares(present)
				}
				assert.Empty(t, w.overlaps)
			})
		})
	}
}

// Replicas that join at the same time take parts that they give up before they have
// begun to work on them. What is counted is what they have worked on.
func TestPartsThatAreTakenGivenUpAndLostAddUp(t *testing.T) {
	inWorld(t, 24, func(w *world) {
		t := w.t
		check := func() {
			t.Helper()
			for _, m := range w.members {
				h := m.replica.Health()
				assert.EqualValues(t, len(h.Held), h.Took-h.Gave-h.Lost, "%s took %d, gave %d, lost %d", h.Identity, h.Took, h.Gave, h.Lost)
			}
		}
		for range 3 {
			w.prepare().run()
		}
		w.settle()
		check()
		cut := w.members[0]
		cut.conn.sever(true)
		time.Sleep(time.Minute)
		synctest.Wait()
		check()
		assert.EqualValues(t, 8, cut.replica.Health().Lost)
		cut.conn.sever(false)
		time.Sleep(time.Minute)
		synctest.Wait()
		check()
		// Work that fails, and is lost or handed over while it waits to be called again.
		w.mu.Lock()
		cut.fail = errors.New("not now")
		w.mu.Unlock()
		w.members[1].leave()
		time.Sleep(20 * time.Second)
		synctest.Wait()
		check()
		cut.conn.sever(true)
		time.Sleep(time.Minute)
		synctest.Wait()
		check()
		cut.conn.sever(false)
		time.Sleep(time.Minute)
		cut.leave()
		check()
	})
}

func ceil(a, b int) int { return (a + b - 1) / b }

// checkShares is promise 4.
func (w *world) checkShares(present []*member) {
	w.t.Helper()
	total := 0
	for _, m := range present {
		h := m.replica.Health()
		total += m.held()
		assert.Contains(w.t, []int{w.opts.Parts / len(present), ceil(w.opts.Parts, len(present))}, m.held())
		assert.Len(w.t, h.Held, h.Quota)
		assert.Equal(w.t, h.Quota, m.held())
		assert.Zero(w.t, h.Free)
	}
	assert.Equal(w.t, w.opts.Parts, total)
}

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

// Promise informer/sharding/6
func TestPromise6AReplicaWhoseViewStandsStillStops(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		t := w.t
		w.start()
		w.start()
		leader := w.worker(nil)
		blind := time.Now()
		// Its renewals succeed, but it is not shown anything any more.
		leader.conn.set(func(c *conn) { c.blind = true })
		lost := leader.part(0).Context()
		select {
		case <-lost.Done():
		case <-time.After(2 * leaseDuration):
			t.Fatal("it goes on without seeing anything")
		}
		assert.Equal(t, ErrLost, context.Cause(lost))
		assert.LessOrEqual(t, time.Since(blind), renewDeadline)
		w.worker(leader)
		assert.Empty(t, w.overlaps)
		leader.conn.set(func(c *conn) { c.blind = false })
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

// A replica that has lost its session has no part, and no other session, until its work has returned.
func TestWorkThatIgnoresItsCancellationKeepsTheReplicaFromJoining(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		t := w.t
		m := w.start()
		m.ignores = time.Minute
		m.conn.set(func(c *conn) { c.blind = true })
		<-m.part(0).Context().Done()
		m.conn.set(func(c *conn) { c.blind = false })
		time.Sleep(m.ignores - time.Second)
		synctest.Wait()
		h := m.replica.Health()
		assert.Equal(t, StateJoining, h.State)
		assert.Equal(t, 1, h.Sessions)
		assert.Equal(t, 2, m.held(), "its work goes on")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		h = m.replica.Health()
		assert.Equal(t, StateMember, h.State)
		assert.Equal(t, 2, h.Sessions)
		assert.Equal(t, 4, m.called())
		assert.Len(t, h.Held, 2)
	})
}

// It can write, but sees nothing for long: each session that it begins ends unseen. Its identity comes first in
// the order of those that are to have a part.
//
// Promise informer/sharding/6
func TestPromise6AReplicaThatSeesNothingKeepsNoPartFromOthers(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		t := w.t
		leader := w.start()
		follower := w.start()
		require.Same(t, leader, w.worker(nil))
		leader.conn.set(func(c *conn) { c.blind = true })
		require.Same(t, follower, w.worker(leader))
		for range 10 {
			time.Sleep(30 * time.Second)
			synctest.Wait()
			assert.Equal(t, 1, follower.held())
			assert.Equal(t, 1, follower.replica.Health().Quota)
		}
		assert.Equal(t, 1, follower.called(), "it has worked on the part all the time")
		leader.conn.set(func(c *conn) { c.blind = false })
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, StateMember, leader.replica.Health().State)
		assert.Equal(t, 2, leader.replica.Health().Sessions, "what nobody has seen is no session")
		assert.Len(t, follower.replica.Health().Replicas, 2)
		assert.Equal(t, 1, leader.held()+follower.held())
	})
}

// Promise informer/sharding/7
func TestPromise7EditsByHandAreHealed(t *testing.T) {
	edits := map[string]func(l *lease) *lease{
		"deleted":                 func(*lease) *lease { return nil },
		"without a holder":        func(l *lease) *lease { l.Spec.HolderIdentity = nil; return l },
		"of another holder":       func(l *lease) *lease { l.Spec.HolderIdentity = new("somebody"); return l },
		"without a label":         func(l *lease) *lease { l.Labels = nil; return l },
		"without annotations":     func(l *lease) *lease { l.Annotations = nil; return l },
		"for a century":           func(l *lease) *lease { l.Spec.LeaseDurationSeconds = new(int32(1<<31 - 1)); return l },
		"for an hour":             func(l *lease) *lease { l.Spec.LeaseDurationSeconds = new(int32(3600)); return l },
		"for a negative time":     func(l *lease) *lease { l.Spec.LeaseDurationSeconds = new(int32(-1)); return l },
		"joining":                 func(l *lease) *lease { l.Annotations = map[string]string{joiningAnnotation: "true"}; return l },
		"empty":                   func(l *lease) *lease { l.Spec = leaseSpec{}; return l },
		"renewed in another year": func(l *lease) *lease { l.Spec.RenewTime.Time = l.Spec.RenewTime.AddDate(30, 0, 0); return l },
	}
	for what, edit := range edits {
		for _, of := range []string{"part", "session"} {
			t.Run(of+" "+what, func(t *testing.T) {
				inWorld(t, 1, func(w *world) {
					t := w.t
					w.start()
					w.start()
					leader := w.worker(nil)
					name := "group-part-0"
					if of == "session" {
						name = "group-replica-" + leader.replica.Health().Session
					}
					edited := time.Now()
					w.server.edit(name, edit)
					time.Sleep(renewDeadline)
					synctest.Wait()
					w.mu.Lock()
					assert.Len(t, w.running[0], 1, "after the renew deadline, one works")
					w.mu.Unlock()
					time.Sleep(leaseDuration)
					synctest.Wait()
					for _, m := range w.members {
						h := m.replica.Health()
						assert.Equal(t, StateMember, h.State)
						assert.Len(t, h.Replicas, 2)
						assert.Zero(t, h.Free)
					}
					last := w.worker(nil)
					assert.Less(t, last.began.Sub(edited), renewDeadline+leaseDuration)
					// And a crash is noticed as always.
					crashed := time.Now()
					last.crash()
					assert.LessOrEqual(t, w.worker(last).began.Sub(crashed), leaseDuration+time.Second)
				})
			})
		}
	}
}

// The replica that had the part does not finish what it has in progress, as in a hand-over: another may work.
//
// Promise informer/sharding/7
func TestPromise7APartIsLostWhenItsRecordNamesAnother(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		t := w.t
		leader := w.start()
		follower := w.start()
		leader.linger = time.Hour
		lost := leader.part(0).Context()
		edited := time.Now()
		w.server.edit("group-part-0", func(l *lease) *lease {
			l.Spec.HolderIdentity = new(follower.replica.Health().Session)
			return l
		})
		<-lost.Done()
		assert.Equal(t, ErrLost, context.Cause(lost))
		assert.Less(t, time.Since(edited), time.Second)
		w.settle()
		assert.Equal(t, 1, leader.held()+follower.held())
		assert.Empty(t, w.overlaps)
	})
}

// Promise informer/sharding/7
func TestPromise7ARecordThatStatesAnotherNumberOfPartsIsPutRight(t *testing.T) {
	for what, edited := range map[string]map[string]string{"none": nil, "another": {partsAnnotation: "3"}, "not a number": {partsAnnotation: "many"}} {
		t.Run(what, func(t *testing.T) {
			inWorld(t, 1, func(w *world) {
				t := w.t
				leader := w.start()
				w.start()
				term := leader.part(0).Transitions
				w.server.edit("group-part-0", func(l *lease) *lease { l.Annotations = edited; return l })
				time.Sleep(time.Second)
				synctest.Wait()
				third := w.start()
				h := third.replica.Health()
				assert.Equal(t, StateMember, h.State, "it is not refused")
				assert.Len(t, h.Replicas, 3)
				assert.Equal(t, 1, leader.called(), "its work goes on")
				for _, l := range w.server.snapshot() {
					if l.Name == "group-part-0" {
						assert.True(t, l.states(1))
						assert.EqualValues(t, term, l.transitions(), "the part has the same owner")
						assert.Equal(t, leader.replica.Health().Session, l.holder())
					}
				}
			})
		})
	}
}

// Promise informer/sharding/7
func TestPromise7ASessionThatWasEditedGoesOn(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		t := w.t
		leader := w.start()
		name := "group-replica-" + leader.replica.Health().Session
		for range 10 {
			w.server.edit(name, func(l *lease) *lease {
				l.Spec.LeaseDurationSeconds, l.Annotations = new(int32(7)), map[string]string{leavingAnnotation: "true"}
				return l
			})
			time.Sleep(leaseDuration / 3)
			synctest.Wait()
			all := w.server.snapshot()
			i := slices.IndexFunc(all, func(l *lease) bool { return l.Name == name })
			require.NotEqual(t, -1, i, "the session goes on")
			assert.Equal(t, leaseDuration, all[i].stated(), "the next renewal puts it right")
			assert.True(t, all[i].counts())
		}
		h := leader.replica.Health()
		assert.Equal(t, 1, h.Sessions)
		assert.Zero(t, h.Lost)
	})
}

// The others have seen the deletion, and may have taken its parts: the replica does not go on with the new Lease,
// even if it is shown both events late.
//
// Promise informer/sharding/7
func TestPromise7ASessionThatWasCreatedAgainHasEnded(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		t := w.t
		leader := w.start()
		w.start()
		leader.conn.set(func(c *conn) { c.lag = renewDeadline / 2 })
		lost := leader.part(0).Context()
		edited := time.Now()
		w.server.recreate("group-replica-" + leader.replica.Health().Session)
		<-lost.Done()
		assert.Less(t, time.Since(edited), renewDeadline/3, "the next renewal finds it out")
		leader.conn.set(func(c *conn) { c.lag = 0 })
		time.Sleep(leaseDuration + time.Second)
		synctest.Wait()
		assert.Equal(t, 2, leader.replica.Health().Sessions)
		assert.Len(t, leader.replica.Health().Replicas, 2)
	})
}

// A replica has crashed, and nobody renews its session any more, whatever it says.
//
// Promise informer/sharding/7
func TestPromise7ASessionThatStatesACenturyExpires(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		t := w.t
		leader := w.start()
		follower := w.start()
		name := "group-replica-" + leader.replica.Health().Session
		leader.crash()
		w.server.edit(name, func(l *lease) *lease {
			l.Spec.LeaseDurationSeconds = new(int32(1<<31 - 1))
			return l
		})
		time.Sleep(leaseDuration + time.Second)
		synctest.Wait()
		assert.Equal(t, 1, follower.held())
	})
}

// Promise informer/sharding/6
func TestPromise6AViewThatStandsStillIsReadAgainBeforeTheDeadline(t *testing.T) {
	t.Parallel()
	o := Options{Name: "group", Namespace: "default", Parts: 1, RenewDeadline: 8 * time.Second, Work: func(context.Context, *Part) error { return nil }}
	require.NoError(t, o.complete())
	timeouts := watchOptions(&o).Timeouts
	assert.Equal(t, 4*time.Second, timeouts.Idle, "a watch that shows no renewal")
	assert.Equal(t, 4*time.Second, timeouts.Answer, "a request without an answer")
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
