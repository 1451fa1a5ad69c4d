package sharding

import "github.com/informerkit/informerkit/informer/health"

// What a [Replica] says of itself; package health has the types, for pages and metrics.
type (
	// Health is what a replica knows about its group at one moment.
	Health = health.Replica
	// State is what a replica is doing.
	State = health.ReplicaState
	// PartHealth describes a part that the replica has.
	PartHealth = health.Part
	// ReplicaHealth describes a replica of the group.
	ReplicaHealth = health.Member
	// Metrics records what a replica does.
	Metrics = health.ReplicaMetrics
	// MetricsProvider provides the Metrics of each replica.
	MetricsProvider = health.ReplicaMetricsProvider
)

// The states, in the order in which a replica goes through them. One that has lost
// its session goes back to Joining.
const (
	// StateNew is before Run.
	StateNew = health.ReplicaNew
	// StateJoining is without a session: the replica has no part.
	StateJoining = health.ReplicaJoining
	// StateMember is with a session.
	StateMember = health.ReplicaMember
	// StateLeaving is from the end of the context of Run: parts are given up.
	StateLeaving = health.ReplicaLeaving
	// StateStopped is after Run.
	StateStopped = health.ReplicaStopped
)

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
