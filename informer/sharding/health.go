package sharding

import (
	"time"

	"github.com/informerkit/informerkit/informer"
)

// State is what a [Replica] is doing.
type State string

// The states, in the order in which a replica goes through them. One that has lost
// its session goes back to Joining.
const (
	// StateNew is before Run.
	StateNew State = "new"
	// StateJoining is without a session: the replica has no part.
	StateJoining State = "joining"
	// StateMember is with a session.
	StateMember State = "member"
	// StateLeaving is from the end of the context of Run: parts are given up.
	StateLeaving State = "leaving"
	// StateStopped is after Run.
	StateStopped State = "stopped"
)

// Health is what a replica can say about its group at one moment.
type Health struct {
	// Name is that of the group, and Parts the number of its parts.
	Name  string
	Parts int
	// Identity is that of the replica, and Session that of its session, "" without one.
	Identity, Session string
	State             State
	// Sessions is how many sessions the replica has had.
	Sessions int
	// Quota is how many parts it is to have, and Held those that it has.
	Quota int
	Held  []PartHealth
	// Free is how many parts have no owner, and Replicas are the sessions of the group,
	// ordered by ID.
	Free     int
	Replicas []ReplicaHealth
	// LastRenewal is when the newest renewal was sent that has succeeded, and Deadline
	// until when the replica works without another.
	LastRenewal, Deadline time.Time
	// Took, Gave and Lost count the parts that it has taken, handed over and lost.
	Took, Gave, Lost uint64
	// LastError is the last request that failed, or error of Work, at LastErrorTime.
	LastError     error
	LastErrorTime time.Time
	// Leases is the informer that the replica watches the Leases with.
	Leases informer.Health
}

// Leader returns the session that has the only part of a group, "" if there is none at
// the moment. It is for leader election.
func (h *Health) Leader() string {
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

// PartHealth describes a part that the replica has.
type PartHealth struct {
	Part int
	// Working is whether Work runs, Draining whether it was asked to return, Since when
	// the one or the other began.
	Working, Draining bool
	Since             time.Time
}

// ReplicaHealth describes a replica of the group.
type ReplicaHealth struct {
	Session string
	// Held is how many parts it has.
	Held    int
	Leaving bool
	// Seen is when this replica has seen it alive for the last time.
	Seen time.Time
}

// Health describes the replica and its group. It may be called at any time, from any
// goroutine.
func (r *Replica) Health() Health {
	h := *r.health.Load()
	h.Leases = r.leases.Health()
	return h
}

// publish makes what Health returns.
func (r *Replica) publish(v *view, state State) {
	h := r.counts
	h.Name, h.Parts, h.Identity, h.State = r.opts.Name, r.opts.Parts, r.opts.Identity, state
	holders := v.holders()
	held := map[string]int{}
	for _, id := range holders {
		held[id]++
	}
	h.Free = held[""]
	for id, l := range v.sessions {
		h.Replicas = append(h.Replicas, ReplicaHealth{Session: id, Held: held[id], Leaving: l.leaving(), Seen: r.observed[id].since})
	}
	sortReplicas(h.Replicas)
	if s := r.session; s != nil {
		h.Session, h.LastRenewal, h.Deadline = s.id, s.renewed, s.deadline.time()
		h.Quota = r.quota(v)
		for i := range r.slots {
			w := r.slots[i].work
			if w == nil && holders[i] != s.id {
				continue
			}
			p := PartHealth{Part: i}
			if w != nil {
				p.Working, p.Draining, p.Since = true, w.phase != running, w.since
			}
			h.Held = append(h.Held, p)
		}
	}
	r.health.Store(&h)
}
