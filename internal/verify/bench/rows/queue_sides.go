package rows

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"

	ours "github.com/informerkit/informerkit/workqueue"
)

// neverBefore is the first delay of the limiters in rows where nothing is to
// come back while it is measured.
const neverBefore = time.Hour

// ourQueue is our rate-limiting queue; only what is used costs something, so it
// stands for the plain one, too.
func ourQueue() queue {
	limiter := ours.Exponential[key](ours.ExponentialOptions{Base: neverBefore, Max: 100 * neverBefore})
	return oursAsQueue{ours.NewRateLimiting(limiter, ours.Options[key]{}), running()}
}

type oursAsQueue struct {
	*ours.RateLimitingQueue[key]
	ctx context.Context
}

func (q oursAsQueue) Get() (key, bool) { return q.RateLimitingQueue.Get(q.ctx) }

// clientGoQueue is client-go's.
func clientGoQueue() queue {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[key](neverBefore, 100*neverBefore)
	return clientGoAsQueue{workqueue.NewTypedRateLimitingQueue(limiter)}
}

type clientGoAsQueue struct {
	workqueue.TypedRateLimitingInterface[key]
}

func (q clientGoAsQueue) Get() (key, bool) {
	k, shutdown := q.TypedRateLimitingInterface.Get()
	return k, !shutdown
}
