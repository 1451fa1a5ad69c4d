// Package health has the types in which two layers describe themselves to pages and
// metrics: audits of a cache, and replicas of package sharding. A program that shows
// them, and uses neither, does not compile those layers.
//
// Package audit calls [Audit] Health.
package health

import (
	"time"

	"github.com/informerkit/informerkit/informer"
)

// ReplicaState is what a replica is doing.
type ReplicaState string

// The states, in the order in which a replica goes through them. One that has lost
// its session goes back to Joining.
const (
	// ReplicaNew is before Run.
	ReplicaNew ReplicaState = "new"
	// ReplicaJoining is without a session: the replica has no part.
	ReplicaJoining ReplicaState = "joining"
	// ReplicaMember is with a session.
	ReplicaMember ReplicaState = "member"
	// ReplicaLeaving is from the end of the context of Run: parts are given up.
	ReplicaLeaving ReplicaState = "leaving"
	// ReplicaStopped is after Run.
	ReplicaStopped ReplicaState = "stopped"
)

// Replica is what a replica knows about its group at one moment.
type Replica struct {
	// Name is that of the group, and Parts the number of its parts.
	Name  string
	Parts int
	// Identity is that of the replica, and Session that of its session, "" without one.
	Identity, Session string
	State             ReplicaState
	// Sessions is how many sessions the replica has had.
	Sessions int
	// Quota is how many parts it should have, and Held are those that it has.
	Quota int
	Held  []Part
	// Free is how many parts have no owner, and Replicas are the sessions of the group,
	// ordered by ID.
	Free     int
	Replicas []Member
	// LastRenewal is when the newest successful renewal was sent, and Deadline when the
	// replica stops work unless another one succeeds.
	LastRenewal, Deadline time.Time
	// Took, Gave and Lost count the parts that it has taken, handed over and lost.
	Took, Gave, Lost uint64
	// LastError is the last request that failed, or error of Work, at LastErrorTime.
	LastError     error
	LastErrorTime time.Time
	// Leases is the informer with which the replica watches the Leases.
	Leases informer.Health
}

// Leader returns the session that has the only part of a group, "" if there is none at
// the moment. It is for leader election.
func (h *Replica) Leader() string {
	if h.Parts != 1 {
		return ""
	}
	for _, r := range h.Replicas {
		if r.Held == 1 {
			return r.Session
		}
	}
	return ""
}

// Part describes a part that the replica has.
type Part struct {
	Part int
	// Working is whether Work runs, Draining whether it was asked to return, and Since
	// when the one or the other began.
	Working, Draining bool
	Since             time.Time
}

// Member describes a replica of the group.
type Member struct {
	Session string
	// Held is how many parts it has.
	Held    int
	Leaving bool
	// Seen is when this replica last saw it alive.
	Seen time.Time
}

// ReplicaMetricsProvider provides the [ReplicaMetrics] of each replica, for example series
// with the name of its group as a label. Package informer/prometheus has one.
type ReplicaMetricsProvider interface {
	// Replica is called by Run, once for each replica. The function health is the
	// replica's Health, to be called from any goroutine, for example for each scrape.
	Replica(name string, health func() Replica) ReplicaMetrics
}

// ReplicaMetrics records what a replica does. The methods are called by its goroutine, one
// at a time, and must not block. States are in [Replica].
type ReplicaMetrics interface {
	// Renewed records a request that renewed the session, or failed to.
	Renewed(took time.Duration, err error)
	// Took records that the work on a part begins.
	Took(part int)
	// Gave records that a part was given up, after the given time of draining.
	Gave(part int, drained time.Duration)
	// Lost records that a part was lost.
	Lost(part int)
	// Close is called when Run returns: the series should end. It is the last call.
	Close()
}
