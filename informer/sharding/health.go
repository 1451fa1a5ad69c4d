package sharding

import "github.com/informerkit/informerkit/informer/health"

// Health describes the replica and its group. It may be called at any time, from any
// goroutine.
func (r *Replica) Health() health.Replica {
	h := *r.health.Load()
	h.Leases = r.leases.Health()
	return h
}

// publish makes what Health returns.
func (r *Replica) publish(v *view, state health.ReplicaState) {
	h := r.counts
	h.Name, h.Parts, h.Identity, h.State = r.opts.Name, r.opts.Parts, r.opts.Identity, state
	holders := v.holders()
	held := map[string]int{}
	for _, id := range holders {
		held[id]++
	}
	h.Free = held[""]
	for id, l := range v.sessions {
		h.Replicas = append(h.Replicas, health.Member{Session: id, Held: held[id], Leaving: l.leaving(), Seen: r.observed[id].since})
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
			p := health.Part{Part: i}
			if w != nil {
				p.Working, p.Draining, p.Since = true, w.phase != running, w.since
			}
			h.Held = append(h.Held, p)
		}
	}
	r.health.Store(&h)
}
