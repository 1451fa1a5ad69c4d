package reflector

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/informerkit/informerkit/internal/object"
)

// bulkRate is the number of new objects per second at which initial events are
// taken for those of a large collection rather than for ordinary life on a
// server that will never say that they are over.
const bulkRate = 100

// maxCutShort is how many streams of initial events in a row may break before a
// LIST is used instead.
const maxCutShort = 2

// useWatchList says whether to ask for initial events.
func (r *Reflector[T]) useWatchList() bool {
	switch r.opts.Sync {
	case SyncList:
		return false
	case SyncAuto:
		if w, ok := r.lw.(watchLister); !ok || !w.SupportsWatchList() {
			return false
		}
	}
	return !time.Now().Before(r.Health().WatchListRefusedUntil)
}

// watchList reads the collection as the initial events of a watch, which goes
// on and is returned. If fallback is true, a LIST is to be used now.
func (r *Reflector[T]) watchList(ctx context.Context) (live *liveStream[T], end ending, fallback bool) {
	start := time.Now()
	live, n, answered, err := r.initialEvents(ctx)
	if r.pos.note(err) && !r.pos.lost {
		r.pos.lost = true
		live, n, answered, err = r.initialEvents(ctx)
	}
	r.opts.Metrics.Listed(time.Since(start), n, Classify(err))
	if err == nil {
		r.cutShort = 0
		return live, ending{}, false
	}
	end = failed(OpWatchList, err)
	if ctx.Err() != nil {
		return nil, end, false
	}
	// What decides is whether a LIST could do better, and whether the server said no to
	// WatchList or failed at it.
	switch end.class {
	case ClassRefused, ClassThrottled, ClassTLS, ClassUnauthorized, ClassNotFound, ClassNotAPI, ClassNotSharded, ClassWrongKind, ClassSink, ClassExpired:
		// A LIST would fare no better.
		return nil, end, false
	case ClassNetwork, ClassClosed, ClassTimeout, ClassDecode, ClassFuture, ClassServer:
		if end.class == ClassServer && answered {
			// Accepted, and then not able to: etcd is too old for it.
			r.refused()
			break
		}
		// A broken connection says nothing about WatchList. But a proxy that cuts each
		// stream would keep the reflector from ever being synced, so LIST has its turn.
		if r.cutShort++; r.cutShort <= maxCutShort {
			return nil, end, false
		}
		r.cutShort = 0
	case ClassForbidden:
		// Perhaps only watching is; a list is better than nothing.
	default:
		r.refused()
	}
	r.noteRefusal(end)
	return nil, end, true
}

// refused remembers that the server does not do WatchList.
func (r *Reflector[T]) refused() {
	// For a while, as the server may be upgraded while this process runs.
	until := time.Now().Add(r.opts.Timeouts.WatchListRetry)
	r.status.note(func(t *trouble) { t.WatchListRefusedUntil = until })
}

// noteRefusal reports why LIST is used, without counting it as a failure.
func (r *Reflector[T]) noteRefusal(end ending) {
	r.status.note(func(t *trouble) {
		t.LastError, t.LastErrorClass, t.LastErrorTime = end.err, end.class, time.Now()
	})
	r.warn("fallback "+string(end.class), "using LIST instead of WatchList", "class", end.class, "err", end.err)
}

// initialEvents reads the initial events of one watch and gives them to the
// sink. It says how many objects there were, and whether the server had
// accepted the request.
func (r *Reflector[T]) initialEvents(ctx context.Context) (live *liveStream[T], n int, answered bool, err error) {
	r.status.update(func(h *routine) { h.WatchLists++ })
	list := r.newCollectedList(true)
	live, err = r.connect(ctx, list, r.pos.watchList(), r.opts.Timeouts.Progress, errNoProgress)
	if err != nil {
		return nil, 0, false, err
	}
	defer func() {
		if err != nil {
			live.end()
			live = nil
		}
	}()
	r.setState(StateStreaming)
	rv, err := r.collect(live, list)
	if err != nil {
		// An orderly end is one only after the bookmark.
		if isEOF(err) {
			err = errCutShort
		}
		return live, len(list.index), true, err
	}
	n = len(list.index)
	if err := r.replace(ctx, list, rv); err != nil {
		return live, n, true, err
	}
	// From here on the order is that of the history.
	live.unordered = false
	return live, n, true, nil
}

// collect reads events into list up to the bookmark that ends the initial
// ones, and returns its resourceVersion.
func (r *Reflector[T]) collect(live *liveStream[T], list *collectedList[T]) (string, error) {
	// Two deadlines: one for silence, and one for a stream that is busy but never
	// complete.
	live.silent.set(r.opts.Timeouts.Progress, errNoProgress)
	whole := r.completion(live)
	defer whole.stop()
	for {
		ev, err := live.next()
		if err != nil {
			return "", err
		}
		r.opts.Metrics.Received(ev.Type)
		old, same := unchangedObject[T](ev.Err)
		switch {
		case same:
			list.good++
			// Only objects that are new extend the deadlines: a server without the
			// bookmark goes on with ordinary changes of the same objects.
			if !list.store(old) {
				continue
			}
		case ev.Type == watch.Bookmark && ev.InitialEventsEnd:
			live.silent.set(0, nil)
			return ev.ResourceVersion, nil
		case ev.Type == watch.Bookmark:
			continue
		case ev.Err != nil:
			oe := asObjectError(ev.Err)
			if ev.Type == watch.Deleted && oe.Key.Name != "" {
				list.remove(oe.Key)
				continue
			}
			// The first state of an object is quarantined like one in a list. A change
			// of one leaves an older state in the list, which must not pass for that of
			// the bookmark.
			list.lost = list.lost || ev.Type != watch.Added
			if err := list.refuse(oe); err != nil {
				return "", err
			}
		case ev.Type == watch.Added, ev.Type == watch.Modified:
			list.good++
			if !list.put(ev.Object) {
				continue
			}
		case ev.Type == watch.Deleted:
			list.remove(object.KeyOf(ev.Object))
			continue
		default:
			return "", &unknownEventError{ev.Type}
		}
		whole.fresh.Add(1)
		live.silent.extend(time.Now())
	}
}
