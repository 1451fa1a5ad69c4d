package reconcile

import (
	"context"
	"maps"
	"slices"
	"time"
)

// writers is how many sets are created at a time when all are wanted at once.
const writers = 16

// throughput creates many sets at once and waits until all have their pods.
func (m *measurement) throughput(ctx context.Context, side Side) (outcome, error) {
	r, err := m.prepare(ctx, side, areaThroughput)
	if err != nil {
		return outcome{}, err
	}
	o, err := m.converge(ctx, r)
	return o, r.end(ctx, err, m.Sets)
}

func (m *measurement) converge(ctx context.Context, r *run) (outcome, error) {
	if _, err := r.process.live(ctx); err != nil { // no garbage of the start in what follows
		return outcome{}, err
	}
	before, err := r.process.sample(ctx)
	if err != nil {
		return outcome{}, err
	}
	begin := time.Now()
	writes, err := atOnce(ctx, m.Sets, writers, r.creating(m.Replicas))
	if err != nil {
		return outcome{}, err
	}
	times, err := r.observer.waitFor(ctx, versions(writes))
	if err != nil {
		return outcome{}, err
	}
	after, err := r.process.sample(ctx)
	if err != nil {
		return outcome{}, err
	}
	alive, err := r.process.live(ctx)
	if err != nil {
		return outcome{}, err
	}
	end := slices.MaxFunc(slices.Collect(maps.Values(times)), time.Time.Compare)
	took, used := end.Sub(begin), after.less(before)
	return outcome{
		figures: map[string]float64{
			workConverge:    float64(took),
			workPods:        float64(m.Sets*m.Replicas) / took.Seconds(),
			workReconciles:  float64(used.Reconciles) / took.Seconds(),
			workPerSet:      float64(used.Reconciles) / float64(m.Sets),
			workCPU:         float64(used.CPU),
			workAllocations: float64(used.Allocs),
			workBytes:       float64(used.Bytes),
			workLive:        float64(alive),
		},
		requests: used.Requests,
	}, nil
}

// less returns what was used since an earlier sample.
func (u *usage) less(earlier *usage) usage {
	d := usage{
		CPU: u.CPU - earlier.CPU, Allocs: u.Allocs - earlier.Allocs, Bytes: u.Bytes - earlier.Bytes,
		Reconciles: u.Reconciles - earlier.Reconciles, Requests: map[string]int{},
	}
	for request, n := range u.Requests {
		if n -= earlier.Requests[request]; n > 0 {
			d.Requests[request] = n
		}
	}
	return d
}
