package sharding

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer/health"
)

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for says, change := range map[string]func(o *Options){
		`Options.Name is ""`:                                func(o *Options) { o.Name = "" },
		`Options.Name is "My App"`:                          func(o *Options) { o.Name = "My App" },
		`Options.Namespace is ""`:                           func(o *Options) { o.Namespace = "" },
		`Options.Identity is "a/b"`:                         func(o *Options) { o.Identity = "a/b" },
		"Options.Work is nil":                               func(o *Options) { o.Work = nil },
		"Options.Parts is -1":                               func(o *Options) { o.Parts = -1 },
		"Options.Parts is 5000":                             func(o *Options) { o.Parts = 5000 },
		"must not be negative":                              func(o *Options) { o.DrainTimeout = -1 },
		"LeaseDuration is 10ms; use 1s to 1h0m0s":           func(o *Options) { o.LeaseDuration = 10 * time.Millisecond },
		"LeaseDuration is 2h0m0s":                           func(o *Options) { o.LeaseDuration = 2 * time.Hour },
		"RenewDeadline is 15s, and LeaseDuration 15s":       func(o *Options) { o.RenewDeadline = 15 * time.Second },
		"RenewInterval is 6s, and RenewDeadline 10s":        func(o *Options) { o.RenewInterval = 6 * time.Second },
		"RenewInterval is 2s, and RenewDeadline 1s":         func(o *Options) { o.RenewDeadline, o.RenewInterval = time.Second, 2*time.Second },
		"cannot be part of the name of a Lease: must be no": func(o *Options) { o.Identity = strings.Repeat("a", 250) },
	} {
		o := Options{Name: "group", Namespace: "default", Identity: "me", Work: func(context.Context, *Part) error { return nil }}
		change(&o)
		_, err := New(&rest.Config{Host: "http://127.0.0.1:1"}, o)
		require.ErrorContains(t, err, says)
		assert.NotContains(t, err.Error(), "\n")
	}
	o := Options{Name: "group", Namespace: "default", Work: func(context.Context, *Part) error { return nil }}
	_, err := New(nil, o)
	require.ErrorContains(t, err, "rest.Config is nil")
	_, err = New(&rest.Config{Host: "::"}, o)
	require.Error(t, err)
	require.NoError(t, o.complete())
	assert.Equal(t, []any{DefaultParts, 15 * time.Second, 10 * time.Second, 2500 * time.Millisecond, 15 * time.Second},
		[]any{o.Parts, o.LeaseDuration, o.RenewDeadline, o.RenewInterval, o.DrainTimeout})
	assert.NotEmpty(t, o.Identity)
}

func TestAReplicaRunsOnce(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		m := w.start()
		require.ErrorContains(w.t, m.replica.Run(w.t.Context()), "runs once")
	})
}

func TestAnotherNumberOfPartsIsRefused(t *testing.T) {
	inWorld(t, 4, func(w *world) {
		t := w.t
		first := w.start()
		w.opts.Parts = 8
		second := w.prepare()
		err := second.replica.Run(t.Context())
		require.ErrorContains(t, err, `Lease default/group-part-0 says that group "group" has "4" parts, and this replica 8: end all replicas and delete the Leases`)
		assert.NotContains(t, err.Error(), "\n")
		assert.Equal(t, health.ReplicaStopped, second.replica.Health().State)
		assert.Equal(t, 4, first.held(), "undisturbed")
	})
	// Also if both begin at the same time: the record of part 0 decides.
	inWorldNamed(t, "together", 4, func(w *world) {
		t := w.t
		a := w.prepare()
		w.opts.Parts = 8
		b := w.prepare()
		refused := make(chan *member, 2)
		for _, m := range []*member{a, b} {
			m.run()
			go func() {
				if err := <-m.ended; err != nil {
					refused <- m
				}
				m.ended <- nil
			}()
		}
		loser := <-refused
		w.settle()
		assert.Zero(t, loser.held())
		for _, m := range w.others(loser) {
			assert.Equal(t, m.replica.opts.Parts, m.held())
		}
	})
}

func inWorldNamed(t *testing.T, name string, parts int, test func(w *world)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { inWorld(t, parts, test) })
}

// If the answer says nothing about the write, the session may have been created, and is removed.
func TestASessionWhoseCreationTimedOutIsRemoved(t *testing.T) {
	for _, answer := range []error{
		apierrors.NewTimeoutError("etcdserver: request timed out", 0),
		apierrors.NewInternalError(errors.New("etcdserver: request timed out")),
		errNetwork,
	} {
		t.Run(answer.Error(), func(t *testing.T) {
			inWorld(t, 1, func(w *world) {
				t := w.t
				m := w.prepare()
				m.conn.unsure = answer
				m.run()
				w.settle()
				h := m.replica.Health()
				assert.Equal(t, health.ReplicaMember, h.State)
				assert.Len(t, h.Replicas, 1, "nothing is left of the first attempt")
				assert.Equal(t, 1, m.held())
			})
		})
	}
}

func TestMoreReplicasThanPartsStandBy(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		t := w.t
		for range 5 {
			w.start()
		}
		counts := map[int]int{}
		for _, m := range w.members {
			counts[m.held()]++
		}
		assert.Equal(t, map[int]int{1: 2, 0: 3}, counts)
		for _, m := range w.members {
			if m.held() == 1 {
				go m.crash()
			}
		}
		time.Sleep(leaseDuration + time.Second)
		synctest.Wait()
		total := 0
		for _, m := range w.members {
			total += m.held()
		}
		assert.Equal(t, 2, total)
		assert.Empty(t, w.overlaps)
	})
}

func TestWithoutReplicasPartsAreFreeAndTheNextOneTakesAllAtOnce(t *testing.T) {
	inWorld(t, 8, func(w *world) {
		t := w.t
		w.start().leave()
		for _, l := range w.server.snapshot() {
			assert.Empty(t, l.holder(), l.Name)
		}
		time.Sleep(24 * time.Hour)
		began := time.Now()
		m := w.prepare().run()
		w.worker(nil)
		assert.Less(t, time.Since(began), time.Second)
		w.settle()
		assert.Equal(t, 8, m.held())
	})
}

func TestMissingRightsAreSaidAndHealed(t *testing.T) {
	leases := schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
	for what, err := range map[string]error{
		"forbidden": apierrors.NewForbidden(leases, "group-part-0", errors.New("no RBAC policy matched")),
		"namespace": apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "default"),
	} {
		t.Run(what, func(t *testing.T) {
			inWorld(t, 1, func(w *world) {
				t := w.t
				m := w.prepare()
				m.conn.deny = err
				m.run()
				time.Sleep(50 * time.Second)
				assert.Equal(t, 1, w.logged(fmt.Sprintf("error=%q", err)), "one line a minute: %s", w.logs.String())
				require.ErrorIs(t, m.replica.Health().LastError, err)
				assert.Equal(t, health.ReplicaJoining, m.replica.Health().State)
				m.conn.set(func(c *conn) { c.deny = nil })
				w.settle()
				assert.Equal(t, 1, m.held())

				// Lost while it works.
				m.conn.set(func(c *conn) { c.deny = err })
				time.Sleep(renewDeadline)
				synctest.Wait()
				assert.Zero(t, m.held())
				m.conn.set(func(c *conn) { c.deny = nil })
				time.Sleep(leaseDuration + 2*time.Second)
				synctest.Wait()
				assert.Equal(t, 1, m.held())
			})
		})
	}
}

func TestALeaseOfAnotherProgramIsNotTaken(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		t := w.t
		c := w.server.connect(nil)
		foreign := names{"default", "group"}.newPart(1, 2)
		foreign.Labels, foreign.Annotations = nil, nil
		foreign.Spec.HolderIdentity = new("a client-go elector")
		w.server.mu.Lock()
		w.server.put(foreign, "ADDED")
		w.server.mu.Unlock()
		m := w.start()
		assert.Equal(t, 1, m.held())
		require.ErrorIs(t, m.replica.Health().LastError, errForeign)
		assert.Equal(t, 1, w.logged("a Lease of that name is not of this group: delete it, or choose another Options.Name"))
		assert.Equal(t, "a client-go elector", c.s.leases["group-part-1"].holder())
		w.server.edit("group-part-1", func(*lease) *lease { return nil })
		w.settle()
		assert.Equal(t, 2, m.held())
	})
}

func TestReplicasWithOtherDurationsWaitForEachOther(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		t := w.t
		slow := w.start()
		w.opts.LeaseDuration = time.Second
		fast := w.start()
		cut := time.Now()
		slow.conn.sever(true)
		w.worker(slow)
		assert.Greater(t, time.Since(cut), leaseDuration-3*time.Second, "the duration that the slow one relies on")
		assert.Empty(t, w.overlaps)
		assert.Equal(t, 1, fast.held())
		slow.conn.sever(false)
	})
}

// Clocks that show different years, and go at different speeds, within what the durations allow.
func TestClocksThatDifferChangeNothing(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		t := w.t
		w.server.fastest = 1.19
		for i, rate := range []float64{0.81, 1.19} {
			m := w.prepare()
			m.replica.clock = &driftingClock{
				began: time.Now(), offset: time.Duration(20*i-10) * 365 * 24 * time.Hour, rate: rate, before: func() {}, after: func() {},
			}
			m.run()
			w.settle()
		}
		for range 4 {
			leader := w.worker(nil)
			stopped := time.Now()
			leader.conn.sever(true)
			next := w.worker(leader)
			assert.True(t, next.began.After(leader.ceased), "one stops before the other begins")
			assert.Less(t, next.began.Sub(stopped), leaseDuration*5/4+time.Second)
			leader.conn.sever(false)
			time.Sleep(time.Minute)
		}
		assert.Empty(t, w.overlaps)
		assert.Equal(t, 4, w.logged("has lost its session"))
	})
}

func TestNewAcceptsEachLeaseDurationThatItDocuments(t *testing.T) {
	t.Parallel()
	for _, d := range []time.Duration{minLeaseDuration, 15 * time.Second, 10 * time.Minute, maxLeaseDuration} {
		_, err := New(&rest.Config{Host: "http://localhost"}, Options{
			Name: "g", Namespace: "default", Identity: "a", LeaseDuration: d, Work: func(context.Context, *Part) error { return nil },
		})
		assert.NoError(t, err, d)
	}
}
