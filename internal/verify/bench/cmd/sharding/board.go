package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/informer/sharding"
	"github.com/informerkit/informerkit/internal/verify/bench/shards"
	"github.com/informerkit/informerkit/internal/verify/measure"
)

// board is what all replicas do, as an observer sees it who sees everything.
type board struct {
	parts  int
	ranges []sharding.HashRange

	measure.Monitor // broadcasts each change of workers
	workers         map[int]*replica
	last            map[int]*replica // the worker, or who was it last
	ceased          map[int]time.Time
	gap             time.Duration // the longest that a part was without a worker
	listing         time.Duration // the longest time of a list that a part needed
	moved           int           // how many times a part has got another worker

	reconciling map[types.NamespacedName]*replica
	done        map[types.NamespacedName]string // the version that was reconciled last
	double      int
	reconciles  int
	latencies   []time.Duration // from a change to its first reconcile
}

func newBoard(parts int) *board {
	return &board{
		parts: parts, ranges: sharding.SplitHashes(parts),
		workers: map[int]*replica{}, last: map[int]*replica{}, ceased: map[int]time.Time{},
		reconciling: map[types.NamespacedName]*replica{}, done: map[types.NamespacedName]string{},
	}
}

// began notes that a replica has a part in its cache, and works on it.
func (b *board) began(part int, r *replica, listed time.Duration) {
	b.Lock()
	defer b.Unlock()
	if at, ok := b.ceased[part]; ok {
		b.gap = max(b.gap, time.Since(at))
		delete(b.ceased, part)
	}
	if before := b.last[part]; before != nil && before != r {
		b.moved++
	}
	b.listing = max(b.listing, listed)
	b.workers[part], b.last[part] = r, r
	b.Broadcast()
}

// ended notes that a replica does not work on a part any more.
func (b *board) ended(part int, r *replica) {
	b.Lock()
	defer b.Unlock()
	if b.workers[part] == r {
		delete(b.workers, part)
		b.ceased[part] = time.Now()
		b.Broadcast()
	}
}

// killed notes that nothing that the replica does counts any more.
func (b *board) killed(r *replica) {
	b.Lock()
	defer b.Unlock()
	for part, worker := range b.workers {
		if worker == r {
			delete(b.workers, part)
			b.ceased[part] = time.Now()
		}
	}
	maps.DeleteFunc(b.reconciling, func(_ types.NamespacedName, one *replica) bool { return one == r })
	b.Broadcast()
}

// reset begins another move.
func (b *board) reset() {
	b.Lock()
	defer b.Unlock()
	b.gap, b.listing, b.moved = 0, 0, 0
}

// balanced waits until the replicas, and no others, have all parts, each as many as the
// others or one more.
func (b *board) balanced(ctx context.Context, replicas []*replica) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 3*time.Minute, errors.New("the parts are not shared evenly after three minutes"))
	defer cancel()
	least, most := b.parts/len(replicas), (b.parts+len(replicas)-1)/len(replicas)
	var has map[*replica]int
	err := b.WaitFor(ctx, func() bool {
		has = map[*replica]int{}
		for _, r := range b.workers {
			has[r]++
		}
		even := !slices.ContainsFunc(replicas, func(r *replica) bool { return has[r] < least || has[r] > most })
		return even && len(b.workers) == b.parts && len(has) <= len(replicas)
	})
	if err != nil {
		return fmt.Errorf("%w: %v", err, slices.Sorted(maps.Values(has)))
	}
	return nil
}

// reconcile notes that a replica works on an object, and calls work. It counts how often
// two do at once.
func (b *board) reconcile(r *replica, key types.NamespacedName, version string, since time.Time, work func() error) error {
	b.Lock()
	if r.traffic.dead.Load() {
		b.Unlock()
		return errKilled
	}
	if other := b.reconciling[key]; other != nil {
		b.double++
	}
	b.reconciling[key] = r
	b.reconciles++
	// Two replicas may have the same version: the second one adds no latency.
	if b.done[key] != version && !since.IsZero() {
		b.latencies = append(b.latencies, time.Since(since))
	}
	b.Unlock()
	err := work()
	b.Lock()
	defer b.Unlock()
	if b.reconciling[key] == r {
		delete(b.reconciling, key)
	}
	if err == nil && !r.traffic.dead.Load() {
		b.done[key] = version
	}
	return err
}

// resetLatencies forgets the reconciles so far, such as those of the first lists.
func (b *board) resetLatencies() {
	b.Lock()
	defer b.Unlock()
	b.latencies, b.reconciles = nil, 0
}

// forget frees what is kept of each object.
func (b *board) forget() {
	b.Lock()
	defer b.Unlock()
	b.done, b.latencies = map[types.NamespacedName]string{}, nil
}

// latency returns percentiles of the time from a change to its reconcile.
func (b *board) latency() shards.Latency {
	b.Lock()
	defer b.Unlock()
	return shards.LatencyOf(b.latencies)
}
