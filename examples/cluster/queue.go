package cluster

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/workqueue"
)

func newQueue(name string) *workqueue.RateLimitingQueue[types.NamespacedName] {
	return workqueue.NewRateLimiting[types.NamespacedName](nil, workqueue.Options[types.NamespacedName]{Name: name})
}

func process(ctx context.Context, q *workqueue.RateLimitingQueue[types.NamespacedName], log *slog.Logger,
	fn func(context.Context, types.NamespacedName) error,
) error {
	return workqueue.ProcessWith(ctx, q, workqueue.ProcessOptions[types.NamespacedName]{
		Workers: 4, StopTimeout: 5 * time.Second, Logger: log,
	}, func(ctx context.Context, key types.NamespacedName) (workqueue.Result, error) {
		return workqueue.Result{}, fn(ctx, key)
	})
}
