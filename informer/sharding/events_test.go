package sharding

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// noted is a recorder that notes Events, one line each.
type noted struct {
	mu    sync.Mutex
	lines []string
	about []metav1.PartialObjectMetadata
	block chan struct{} // nil: it does not
}

func (n *noted) Eventf(regarding, _ runtime.Object, kind, reason, action, note string, args ...any) {
	if n.block != nil {
		<-n.block
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, strings.Join([]string{kind, reason, action, fmt.Sprintf(note, args...)}, " "))
	n.about = append(n.about, *regarding.(*metav1.PartialObjectMetadata))
}

// take returns the lines since the last call.
func (n *noted) take() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	lines := n.lines
	n.lines = nil
	return lines
}

func TestEventsSayWhoLeads(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		t := w.t
		n := &noted{}
		w.opts.Events = n
		first := w.start()
		assert.Equal(t, []string{"Normal LeaderElected Take replica member-0 leads"}, n.take())
		second := w.start()
		time.Sleep(time.Hour)
		assert.Empty(t, n.take(), "a follower, and renewals, are no Events")
		first.leave()
		w.settle()
		assert.ElementsMatch(t, []string{
			"Normal LeaderReleased Release replica member-0 has released the Lease",
			"Normal LeaderElected Take replica member-1 leads",
		}, n.take())
		second.conn.sever(true)
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, []string{"Warning LeaderLost Stop replica member-1 has lost the Lease"}, n.take())
		second.conn.sever(false)
		time.Sleep(time.Minute)
		assert.Equal(t, []string{"Normal LeaderElected Take replica member-1 leads"}, n.take())
		synctest.Wait()
		w.server.mu.Lock()
		defer w.server.mu.Unlock()
		for _, about := range n.about[1:] { // the first one may come before the Lease is seen
			assert.Equal(t, metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"}, about.TypeMeta)
			assert.Equal(t, "default/group-part-0", about.Namespace+"/"+about.Name)
			assert.Equal(t, w.server.leases["group-part-0"].UID, about.UID)
		}
	})
}

func TestEventsOfManyPartsAreOfReplicasOnly(t *testing.T) {
	inWorld(t, 64, func(w *world) {
		t := w.t
		n := &noted{}
		w.opts.Events = n
		first, second := w.start(), w.start()
		id := second.replica.Health().Session
		assert.Equal(t, []string{
			"Normal ReplicaJoined Join replica member-0 has joined the group, with session " + first.replica.Health().Session,
			"Normal ReplicaJoined Join replica member-1 has joined the group, with session " + id,
		}, n.take())
		second.conn.sever(true)
		time.Sleep(leaseDuration + time.Second)
		synctest.Wait()
		lines := n.take()
		if assert.Len(t, lines, 2) {
			assert.Contains(t, lines[0], "Warning ReplicaLost Stop replica member-1 has lost its session and with it 32 parts: it was not renewed within 10s")
			assert.Equal(t, "Warning ReplicaExpired EndSession replica member-0 has ended session "+id+", which was not renewed: its parts are free", lines[1])
		}
		second.crash()
		time.Sleep(time.Minute)
		assert.Empty(t, n.take())
		first.leave()
		assert.Equal(t, []string{"Normal ReplicaLeft Leave replica member-0 has left the group, and all of its parts are given up"}, n.take())
	})
}

// The server refuses a note of more than 1,024 bytes. A cause may quote any text.
func TestNotesOfEventsAreWhatTheServerAccepts(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		n := &noted{}
		w.opts.Events = n
		w.start().replica.event(warning, EventReplicaLost, "has lost: %s", strings.Repeat("ä\xff%s", 1000))
		synctest.Wait()
		for _, line := range n.take() {
			assert.LessOrEqual(w.t, len(line), 1024+len("Warning ReplicaLost Stop "))
			assert.True(w.t, utf8.ValidString(line))
		}
	})
}

// A recorder that does not return holds up neither leader nor hand-over nor end.
func TestEventsAreNotWaitedFor(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		t := w.t
		n := &noted{block: make(chan struct{})}
		w.opts.Events = n
		first := w.start()
		w.opts.Events = nil
		w.start()
		assert.Equal(t, 1, first.held())
		for range maxEvents + 3 {
			first.replica.event(normal, EventLeaderElected, "leads")
		}
		assert.Positive(t, w.logged("an Event was dropped, as the recorder of Options.Events blocks"))
		stopped := time.Now()
		first.leave()
		assert.LessOrEqual(t, time.Since(stopped), 2*time.Second)
		assert.Less(t, w.worker(first).began.Sub(stopped), time.Second)
		assert.Equal(t, 1, w.logged("the last Events are not waited for"))
		close(n.block)
		synctest.Wait()
		assert.NotEmpty(t, n.take())
	})
}
