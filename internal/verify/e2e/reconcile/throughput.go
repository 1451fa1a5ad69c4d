package reconcile

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/informerkit/informerkit/internal/verify/measure"
)

// writers is how many sets are created at a time when all are wanted at once.
const writers = 16

// throughput creates many sets at once and waits until all have their pods.
func (m *measurement) throughput(ctx context.Context, side Side) (outcome, error) {
	if side == RequestsAlone {
		return m.requestsAlone(ctx)
	}
	r, err := m.prepare(ctx, side, areaThroughput)
	if err != nil {
		return outcome{}, err
	}
	write := r.creating(m.Replicas)
	o, err := m.converge(ctx, r, func(first, n int) ([]written, error) {
		return atOnce(ctx, n, writers, func(ctx context.Context, i int) (version, error) { return write(ctx, first+i) })
	})
	return o, r.end(ctx, err, warmUps+m.Sets)
}

// requestsAlone creates the sets first, and then has the requests sent that they take.
func (m *measurement) requestsAlone(ctx context.Context) (outcome, error) {
	u, err := newUser(ctx, m.Server, areaThroughput)
	if err != nil {
		return outcome{}, err
	}
	writes, err := atOnce(ctx, warmUps+m.Sets, writers, u.creating(m.Replicas))
	if err != nil {
		return outcome{}, err
	}
	r, err := m.begin(ctx, u, RequestsAlone, areaThroughput)
	if err != nil {
		return outcome{}, err
	}
	o, err := m.converge(ctx, r, func(first, n int) ([]written, error) {
		_, err := measure.Call[measure.None](ctx, r.process, "Begin", n)
		return writes[first:][:n], err
	})
	return o, r.end(ctx, err, warmUps+m.Sets)
}

// warmUps is how many sets a process serves before it is measured: what it does only once,
// such as looking at types by reflection, is not a part of the throughput.
const warmUps = 1

// converge measures until all sets have their pods. begin makes a controller's process serve n
// sets, from a first one on.
func (m *measurement) converge(ctx context.Context, r *run, begin func(first, n int) ([]written, error)) (outcome, error) {
	first, err := begin(0, warmUps)
	if err != nil {
		return outcome{}, err
	}
	if _, err := r.observer.waitFor(ctx, versions(first)); err != nil {
		return outcome{}, err
	}
	if _, err := liveOf(ctx, r.process); err != nil { // no garbage of the start in what follows
		return outcome{}, err
	}
	before, err := usageOf(ctx, r.process)
	if err != nil {
		return outcome{}, err
	}
	start := time.Now()
	writes, err := begin(warmUps, m.Sets)
	if err != nil {
		return outcome{}, err
	}
	times, err := r.observer.waitFor(ctx, versions(writes))
	if err != nil {
		return outcome{}, err
	}
	after, err := usageOf(ctx, r.process)
	if err != nil {
		return outcome{}, err
	}
	alive, err := liveOf(ctx, r.process)
	if err != nil {
		return outcome{}, err
	}
	end := slices.MaxFunc(slices.Collect(maps.Values(times)), time.Time.Compare)
	took, used := end.Sub(start), after.less(before)
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
func (u Usage) less(earlier Usage) Usage {
	d := Usage{
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
