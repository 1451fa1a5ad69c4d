package clientgo

import (
	"context"
	"errors"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// errTerminal marks errors after which trying again cannot help.
var errTerminal = errors.New("not tried again before the set changes")

// processNext reconciles the next set and reports false when the queue has shut
// down. A failed reconcile is retried after 5 ms, then 10, 20, …
func (c *Controller) processNext(ctx context.Context) bool {
	key, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	defer c.queue.Done(key)
	again, err := c.reconcile(ctx, key)
	switch {
	case err == nil:
		c.queue.Forget(key)
		if again > 0 {
			c.queue.AddAfter(key, again)
		}
	case ctx.Err() != nil: // it is over; the next start takes it up
	case errors.Is(err, errTerminal):
		c.queue.Forget(key)
		utilruntime.HandleErrorWithContext(ctx, err, "Reconcile failed", "set", key)
	default:
		utilruntime.HandleErrorWithContext(ctx, err, "Reconcile failed; trying again", "set", key)
		c.queue.AddRateLimited(key)
	}
	return true
}
