package reconcile

import (
	"context"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/examples/replicaset/api"
	"github.com/informerkit/informerkit/internal/verify/measure"
)

// recorder notes what a controller does, and when.
type recorder struct {
	measure.Monitor
	events     Events
	reconciles int
	last       time.Time // when the latest set was reconciled for the first time
}

func newRecorder() *recorder {
	return &recorder{events: Events{Handled: map[string][]Handled{}, Reconciling: map[string][]time.Time{}}}
}

func (r *recorder) handled(set *api.ReplicaSet) {
	now := time.Now()
	r.Lock()
	defer r.Unlock()
	r.events.Handled[set.Name] = append(r.events.Handled[set.Name], Handled{set.Generation, now})
}

func (r *recorder) reconciling(key types.NamespacedName) {
	now := time.Now()
	r.Lock()
	defer r.Unlock()
	r.reconciles++
	times := r.events.Reconciling[key.Name]
	r.events.Reconciling[key.Name] = append(times, now)
	if len(times) == 0 {
		r.last = now
		r.Broadcast()
	}
}

// count returns the number of reconciles so far.
func (r *recorder) count() int {
	r.Lock()
	defer r.Unlock()
	return r.reconciles
}

// snapshot returns everything that was noted.
func (r *recorder) snapshot() *Events {
	r.Lock()
	defer r.Unlock()
	return &Events{Handled: maps.Clone(r.events.Handled), Reconciling: maps.Clone(r.events.Reconciling)}
}

// waitFor returns when n sets have been reconciled, and since when they have.
func (r *recorder) waitFor(ctx context.Context, n int) (last time.Time, err error) {
	err = r.WaitFor(ctx, func() bool {
		last = r.last
		return len(r.events.Reconciling) >= n
	})
	return last, err
}
