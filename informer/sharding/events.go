package sharding

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/internal/httpclient"
)

// EventRecorder writes Kubernetes Events. That of client-go's tools/events implements it.
type EventRecorder interface {
	Eventf(regarding, related runtime.Object, eventtype, reason, action, note string, args ...any)
}

// Reasons of the Events that [Options].Events gets. The object that they are about is
// the Lease of part 0, so `kubectl describe lease NAME-part-0` shows them.
const (
	// EventLeaderElected, EventLeaderReleased and EventLeaderLost are about the only part of a group:
	// a replica leads, does not any more after a hand-over, or because its Lease is lost.
	EventLeaderElected  = "LeaderElected"
	EventLeaderReleased = "LeaderReleased"
	EventLeaderLost     = "LeaderLost"
	// EventReplicaJoined, EventReplicaLeft and EventReplicaLost are about a replica of a group with
	// several parts: it has begun a session, ended it, or lost it and all of its parts.
	EventReplicaJoined = "ReplicaJoined"
	EventReplicaLeft   = "ReplicaLeft"
	EventReplicaLost   = "ReplicaLost"
	// EventReplicaExpired says that this replica has ended the session of another one,
	// which was not renewed.
	EventReplicaExpired = "ReplicaExpired"
)

const (
	normal  = "Normal"
	warning = "Warning"

	// maxEvents is how many Events wait for a recorder that blocks. More are dropped.
	maxEvents = 16
)

// event is one that is to be recorded.
type event struct {
	uid                   types.UID // of the Lease of part 0
	kind, reason, message string
}

// actions are what has been done, for each reason: an Event has both.
var actions = map[string]string{
	EventLeaderElected: "Take", EventLeaderReleased: "Release", EventLeaderLost: "Stop",
	EventReplicaJoined: "Join", EventReplicaLeft: "Leave", EventReplicaLost: "Stop", EventReplicaExpired: "EndSession",
}

// event has an Event recorded, of what this replica has done. It never blocks: who leads must not depend on who
// writes it down.
func (r *Replica) event(kind, reason, format string, args ...any) {
	if r.opts.Events == nil {
		return
	}
	message := "replica " + r.opts.Identity + " " + fmt.Sprintf(format, args...)
	// The server refuses a note of more than 1,024 bytes, and a cause may quote any text.
	e := event{kind: kind, reason: reason, message: httpclient.Cut(strings.ToValidUTF8(message, "\uFFFD"))}
	if l := r.look().parts[0]; l != nil {
		e.uid = l.UID
	}
	select {
	case r.events <- e:
	default:
		r.log.Warn("an Event was dropped, as the recorder of Options.Events blocks", "reason", reason)
	}
}

// groupEvent is event for what happens with a group of several parts.
func (r *Replica) groupEvent(kind, reason, format string, args ...any) {
	if r.opts.Parts > 1 {
		r.event(kind, reason, format, args...)
	}
}

// startEvents has Events recorded in the background. The function that it returns
// waits for those that are left, but not long.
func (r *Replica) startEvents() (stop func()) {
	if r.opts.Events == nil {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e := range r.events {
			about := &metav1.PartialObjectMetadata{
				TypeMeta:   metav1.TypeMeta{APIVersion: leaseResource.GroupVersion().String(), Kind: "Lease"},
				ObjectMeta: metav1.ObjectMeta{Namespace: r.names.namespace, Name: r.names.part(0), UID: e.uid},
			}
			r.opts.Events.Eventf(about, nil, e.kind, e.reason, actions[e.reason], "%s", e.message)
		}
	}()
	return func() {
		close(r.events)
		tick, cancel := r.clock.timer(minLeaseDuration)
		defer cancel()
		select {
		case <-done:
		case <-tick:
			r.log.Warn("the recorder of Options.Events blocks, and the last Events are not waited for")
		}
	}
}
