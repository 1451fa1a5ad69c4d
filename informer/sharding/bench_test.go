package sharding

import (
	"context"
	"testing"
	"time"

	"github.com/informerkit/informerkit/workqueue"
)

// BenchmarkGuard is what the check of the lease adds to each key.
func BenchmarkGuard(b *testing.B) {
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	part := &Part{ctx: ctx, deadline: newDeadline(systemClock{}, time.Now().Add(time.Hour))}
	guarded := Guard(part, func(context.Context, int) (workqueue.Result, error) { return workqueue.Result{}, nil })
	b.Run("Guard", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = guarded(ctx, 1)
		}
	})
	b.Run("Held", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			part.Held()
		}
	})
}
