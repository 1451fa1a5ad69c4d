package build

import (
	"context"
	"log/slog"
	"sync"
)

// Work queues a key for each event, and calls work with the keys of the queue, in several
// goroutines, until ctx ends. keyOf returns the key for an object.
func (i *Informer) Work(ctx context.Context, queue *WorkQueue[Key], workers int, keyOf func(*Object) Key, work func(context.Context, Key) error) {
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for key, ok := queue.Get(ctx); ok; key, ok = queue.Get(ctx) {
				if err := work(ctx, key); err != nil {
					slog.Warn("the work on an object failed, and is tried again", "item", key, "error", err)
					queue.Retry(key)
				} else {
					queue.Forget(key)
				}
				queue.Done(key)
			}
		})
	}
	i.Follow(ctx, func(event Event) { queue.Add(keyOf(event.Object())) })
	group.Wait()
}
