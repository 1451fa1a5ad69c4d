package informer

import (
	"context"
	"iter"

	"github.com/informerkit/informerkit/informer/internal/eventlog"
)

// Events returns the events as a sequence to range over, in the goroutine of the
// caller: first the objects in the cache, then what changes, as a handler with
// zero options would get them. Each range statement starts from the beginning. It
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
		r := newRunner(nil, HandlerOptions{Name: "Events"}, inf.log, inf)
		// After a break yield must not be called again, so the state says stopped.
		r.handler = HandlerFunc[T](func(e Event[T]) {
			if ctx.Err() != nil || inf.applier.progress.stopped.Load() || !yield(e) {
				r.state.Store(int32(stateStopped))
			}
		})
		// It runs here, not in work: the only transition is that to stopped.
		r.state.Store(int32(stateRunning))
		appended := make(chan struct{}, 1)
		if !r.join(inf.applier.events, DefaultBound, func() {
			select {
			case appended <- struct{}{}:
			default: // it is awake, or about to be
			}
		}) {
			return
		}
		// Also after a panic of the loop's body: the log must not wait for this cursor.
		defer r.finish()
		for ctx.Err() == nil {
			switch r.advance() {
			case eventlog.Closed:
				return
			case eventlog.Parked:
				select {
				case <-appended:
				case <-ctx.Done():
					return
				}
			}
		}
	}
}
