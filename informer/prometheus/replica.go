package prometheus

import (
	"sync"
	"time"

	prom "github.com/prometheus/client_golang/prometheus"

	"github.com/informerkit/informerkit/informer/health"
)

var _ health.ReplicaMetrics = (*replicaSeries)(nil)

// replicas is the part of the collector that is about replicas of package sharding.
type replicas struct {
	names[*replicaSeries]
	vectors
	renewals                       *prom.CounterVec
	renewed, drained               *prom.HistogramVec
	member, leader, deadline       level
	parts, quota, held, idle, free level
	draining, others, leaving      level
	sessions, took, gave, lost     level
}

// newReplicas names everything about replicas.
func newReplicas() *replicas {
	buckets := []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
	r := &replicas{
		renewals: counterVec("sharding_renewals_total", "Requests that were to renew the session of the replica, by result: success or error.", "result"),
		renewed:  histogramVec("sharding_renewal_duration_seconds", "How long requests that renew the session took, those that failed included.", buckets),
		drained:  histogramVec("sharding_drain_duration_seconds", "How long it took from asking Work to return until it has, of parts that were handed over.", buckets),

		member:   gauge("sharding_member", "1 if the replica has a session, else 0: it has no part then."),
		leader:   gauge("sharding_leader", "1 if the replica has the only part of its group, else 0. It is 0 in a group of several parts."),
		deadline: gauge("sharding_deadline_seconds", "How long from now the replica works without another renewal, below zero if that has passed. There is no such series without a session."),
		parts:    gauge("sharding_parts", "Parts of the group."),
		quota:    gauge("sharding_quota_parts", "Parts that the replica is to have."),
		held:     gauge("sharding_held_parts", "Parts that the replica has."),
		idle:     gauge("sharding_idle_parts", "Parts that the replica has and does not work on, as Work has returned."),
		draining: gauge("sharding_draining_parts", "Parts that the replica hands over: Work was asked to return, and has not."),
		free:     gauge("sharding_free_parts", "Parts of the group without an owner, as this replica sees it."),
		others:   gauge("sharding_replicas", "Replicas of the group with a session, this one included, as it sees it."),
		leaving:  gauge("sharding_leaving_replicas", "Replicas that are handing over all of their parts, to end."),
		sessions: total("sharding_sessions_total", "Sessions that the replica has had."),
		took:     total("sharding_taken_parts_total", "Parts that the replica has taken."),
		gave:     total("sharding_given_parts_total", "Parts that the replica has handed over in an orderly way."),
		lost:     total("sharding_lost_parts_total", "Parts that the replica has lost: its session was not renewed in time or was ended, or the Lease of the part was changed."),
	}
	r.vectors = vectors{r.renewals, r.renewed, r.drained}
	return r
}

// describe implements part.
func (r *replicas) describe(ch chan<- *prom.Desc) {
	r.vectors.describe(ch)
	for _, l := range []level{
		r.member, r.leader, r.deadline, r.parts, r.quota, r.held, r.idle, r.draining, r.free, r.others, r.leaving,
		r.sessions, r.took, r.gave, r.lost,
	} {
		ch <- l.desc
	}
}

// collect implements part. Health takes no lock.
func (r *replicas) collect(ch chan<- prom.Metric) {
	r.vectors.collect(ch)
	now := time.Now()
	for _, one := range r.all() {
		r.read(reading{ch, one.name}, one.health(), now)
	}
}

// read sends the levels of one replica.
func (r *replicas) read(to reading, h health.Replica, now time.Time) {
	idle, draining, leaving := 0, 0, 0
	for _, p := range h.Held {
		switch {
		case !p.Working:
			idle++
		case p.Draining:
			draining++
		}
	}
	for _, other := range h.Replicas {
		if other.Leaving {
			leaving++
		}
	}
	to.send(r.member, one(h.Session != ""))
	to.send(r.leader, one(h.Session != "" && h.Leader() == h.Session))
	if !h.Deadline.IsZero() {
		to.send(r.deadline, h.Deadline.Sub(now).Seconds())
	}
	to.send(r.parts, float64(h.Parts))
	to.send(r.quota, float64(h.Quota))
	to.send(r.held, float64(len(h.Held)))
	to.send(r.idle, float64(idle))
	to.send(r.draining, float64(draining))
	to.send(r.free, float64(h.Free))
	to.send(r.others, float64(len(h.Replicas)))
	to.send(r.leaving, float64(leaving))
	to.send(r.sessions, float64(h.Sessions))
	to.send(r.took, float64(h.Took))
	to.send(r.gave, float64(h.Gave))
	to.send(r.lost, float64(h.Lost))
}

// addReplica begins the series of a replica.
func (r *replicas) addReplica(name string, health func() health.Replica) *replicaSeries {
	return r.addNumbered(name, func(name string) *replicaSeries {
		return &replicaSeries{
			name:     name,
			health:   health,
			success:  r.renewals.WithLabelValues(name, "success"),
			failures: r.renewals.WithLabelValues(name, "error"),
			renewed:  r.renewed.WithLabelValues(name),
			drained:  r.drained.WithLabelValues(name),
			end:      sync.OnceFunc(func() { r.remove(name, func() { r.vectors.end(name) }) }),
		}
	})
}

// replicaSeries are the metrics of one replica.
type replicaSeries struct {
	name              string
	health            func() health.Replica
	success, failures prom.Counter
	renewed, drained  prom.Observer
	end               func()
}

// Close implements [health.ReplicaMetrics].
func (r *replicaSeries) Close() { r.end() }

// Renewed implements [health.ReplicaMetrics].
func (r *replicaSeries) Renewed(took time.Duration, err error) {
	r.renewed.Observe(took.Seconds())
	if err != nil {
		r.failures.Inc()
		return
	}
	r.success.Inc()
}

// Took implements [health.ReplicaMetrics]; the health says it as well.
func (r *replicaSeries) Took(int) {}

// Gave implements [health.ReplicaMetrics].
func (r *replicaSeries) Gave(_ int, drained time.Duration) { r.drained.Observe(drained.Seconds()) }

// Lost implements [health.ReplicaMetrics]; the health says it as well.
func (r *replicaSeries) Lost(int) {}
