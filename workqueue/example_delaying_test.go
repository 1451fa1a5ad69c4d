package workqueue_test

import (
	"context"
	"fmt"
	"time"

	"github.com/informerkit/informerkit/workqueue"
)

// A certificate is to be looked at when it is about to expire, or earlier if
// something happens to it.
func ExampleDelayingQueue() {
	ctx := context.Background()
	q := workqueue.NewDelaying(workqueue.Options[string]{})
	q.AddAfter("default/soon", 20*time.Millisecond)
	q.AddAfter("default/later", 24*time.Hour)
	q.Add("default/later") // something happened: the delay is forgotten

	for range 2 {
		key, _ := q.Get(ctx)
		fmt.Println(key)
		q.Done(key)
	}
	fmt.Println("delayed:", q.Stats().Delayed)
	// Output:
	// default/later
	// default/soon
	// delayed: 0
}

// A reconcile that has written waits for its cache to see the write. An event that
// arrives meanwhile does not make a worker look at the stale cache.
func ExampleDelayingQueue_Park() {
	ctx := context.Background()
	q := workqueue.NewDelaying(workqueue.Options[string]{})
	q.Add("default/web")
	key, _ := q.Get(ctx)

	var cacheHasSeenIt func()
	q.Park(key, workqueue.ConditionFunc(func(met func()) (cancel func()) {
		cacheHasSeenIt = met
		return nil
	}), time.Minute)
	q.Done(key)

	q.Add(key) // an event
	fmt.Println("queued:", q.Len(), "parked:", q.Stats().Parked)
	cacheHasSeenIt()
	fmt.Println("queued:", q.Len(), "parked:", q.Stats().Parked)
	// Output:
	// queued: 0 parked: 1
	// queued: 1 parked: 0
}
