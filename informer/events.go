package informer

import (
	"context"
	"iter"

	"github.com/informerkit/informerkit/internal/eventlog"
)

// Events returns the events as a sequence to range over, in the goroutine of the
// caller: first the objects in the cache, then what changes, as a handler with
// zero options would be told. Each range statement starts from the beginning. It
// ends when ctx does, when the informer stops, or with a break; then nothing is
// left behind.
//
//	for e := range pods.Events(ctx) {
//		fmt.Println(e.Type, e.Key)
//	}
//
// A loop that takes long is made to catch up like a slow handler.
func (inf *Informer[T]) Events(ctx context.Context) iter.Seq[Event[T]] {
	return func(yield func(Event[T]) bool) {
		var f *follower[T]
		f = newFollower(inf.empty, func(e Event[T]) {
			if ctx.Err() != nil || isClosed(inf.stopped) || !yield(e) {
				f.dead.Store(true)
			}
		})
		wake := make(chan struct{}, 1)
		if !f.join(inf.events, DefaultBound, func() {
			select {
			case wake <- struct{}{}:
			default: // it is awake, or about to be
			}
		}) {
			return
		}
		defer f.leave()
		for ctx.Err() == nil {
			switch f.advance() {
			case eventlog.Closed:
				return
			case eventlog.Parked:
				select {
				case <-wake:
				case <-ctx.Done():
					return
				}
			}
		}
	}
}
