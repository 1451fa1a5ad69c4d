package sharding

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/informer/health"
)

// Promise informer/sharding/7
func TestPromise7EditsByHandAreHealed(t *testing.T) {
	edits := map[string]func(l *lease) *lease{
		"deleted":             func(*lease) *lease { return nil },
		"without a holder":    func(l *lease) *lease { l.Spec.HolderIdentity = nil; return l },
		"of another holder":   func(l *lease) *lease { l.Spec.HolderIdentity = new("another"); return l },
		"without a label":     func(l *lease) *lease { l.Labels = nil; return l },
		"without annotations": func(l *lease) *lease { l.Annotations = nil; return l },
		"for a century":       func(l *lease) *lease { l.Spec.LeaseDurationSeconds = new(int32(1<<31 - 1)); return l },
		"for an hour":         func(l *lease) *lease { l.Spec.LeaseDurationSeconds = new(int32(3600)); return l },
		"for a negative time": func(l *lease) *lease { l.Spec.LeaseDurationSeconds = new(int32(-1)); return l },
		"joining":             func(l *lease) *lease { l.Annotations = map[string]string{joiningAnnotation: "true"}; return l },
		"empty":               func(l *lease) *lease { l.Spec = leaseSpec{}; return l },
		"renewed in another year": func(l *lease) *lease {
			l.Spec.RenewTime = new(metav1.NewMicroTime(l.Spec.RenewTime.AddDate(30, 0, 0)))
			return l
		},
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
						assert.Equal(t, health.ReplicaMember, h.State)
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
		assert.Equal(t, 1, leader.held()+follower.held()) // both may have worked until the view showed the edit
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
				assert.Equal(t, health.ReplicaMember, h.State, "it is not refused")
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
