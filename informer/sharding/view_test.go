package sharding

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/informer/health"
)

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
		assert.Equal(t, health.ReplicaJoining, h.State)
		assert.Equal(t, 1, h.Sessions)
		assert.Equal(t, 2, m.held(), "its work goes on")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		h = m.replica.Health()
		assert.Equal(t, health.ReplicaMember, h.State)
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
		assert.Equal(t, health.ReplicaMember, leader.replica.Health().State)
		assert.Equal(t, 2, leader.replica.Health().Sessions, "what nobody has seen is no session")
		assert.Len(t, follower.replica.Health().Replicas, 2)
		assert.Equal(t, 1, leader.held()+follower.held())
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
