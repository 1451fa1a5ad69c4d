package build

import (
	"context"
	"log/slog"
	"sync"
)

// Work calls work with a key for each event, in several goroutines, until ctx ends. keyOf
// returns the key for an object.
func (i *Informer) Work(ctx context.Context, workers int, keyOf func(*Object) Key, work func(context.Context, Key) error) {
	keys := make(chan Key)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for key := range keys {
				if err := work(ctx, key); err != nil {
					slog.Warn("the work on an object failed", "item", key, "error", err)
				}
			}
		})
	}
	i.Follow(ctx, func(event Event) {
		select {
		case keys <- keyOf(event.Object()):
		case <-ctx.Done():
		}
	})
	close(keys)
	group.Wait()
}
