package reconcile

import (
	"context"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/examples/replicaset/api"
)

// recorder notes what a controller does, and when.
type recorder struct {
	mu         sync.Mutex
	events     Events
	reconciles int
	last       time.Time     // when the latest set was reconciled for the first time
	more       chan struct{} // closed and replaced when a set was
}

func newRecorder() *recorder {
	return &recorder{
		events: Events{Handled: map[string][]Handled{}, Reconciling: map[string][]time.Time{}},
		more:   make(chan struct{}),
	}
}

func (r *recorder) handled(set *api.ReplicaSet) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events.Handled[set.Name] = append(r.events.Handled[set.Name], Handled{set.Generation, now})
}

func (r *recorder) reconciling(key types.NamespacedName) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reconciles++
	times := r.events.Reconciling[key.Name]
	r.events.Reconciling[key.Name] = append(times, now)
	if len(times) == 0 {
		r.last = now
		close(r.more)
		r.more = make(chan struct{})
	}
}

// count returns the number of reconciles so far.
func (r *recorder) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reconciles
}

// snapshot returns everything that was noted.
func (r *recorder) snapshot() *Events {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &Events{Handled: maps.Clone(r.events.Handled), Reconciling: maps.Clone(r.events.Reconciling)}
}

// waitFor returns when n sets have been reconciled, and since when they have.
func (r *recorder) waitFor(ctx context.Context, n int) (time.Time, error) {
	for {
		r.mu.Lock()
		got, last, more := len(r.events.Reconciling), r.last, r.more
		r.mu.Unlock()
		if got >= n {
			return last, nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return time.Time{}, context.Cause(ctx)
		}
	}
}
