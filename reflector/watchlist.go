package reflector

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/watch"
)

const (
	// progressTime is how long a WatchList may take to begin, and then its initial events
	// may bring no new object, before a LIST is used instead. Only whole objects count.
	progressTime = 10 * time.Second
	// completionTime is how long the initial events may take altogether, unless they still
	// come at bulkRate new objects a second, measured over each bulkWindow: then they are
	// those of a large collection rather than ordinary life on a server that will never
	// say that they are over.
	completionTime = 20 * time.Second
	bulkRate       = 100
	bulkWindow     = 5 * time.Second
	// refusedTime is for how long LIST is used after the server has refused a WatchList,
	// or has not ended its initial events.
	refusedTime = 30 * time.Minute
	// maxCutShort is how many streams of initial events in a row may break before a LIST
	// is used instead.
	maxCutShort = 2
)

// useWatchList says whether to ask for initial events.
func (r *Reflector[T]) useWatchList() bool {
	switch r.opts.Sync {
	case SyncList:
		return false
	case syncAuto:
		if w, ok := As[interface{ SupportsWatchList() bool }](r.lw); !ok || !w.SupportsWatchList() {
			return false
		}
	}
	return !r.polling.doubted() && !time.Now().Before(r.Health().WatchListRefusedUntil)
}

// watchList reads the collection as the initial events of a watch, which goes
// on and is returned. If fallback is true, a LIST is to be used now.
func (r *Reflector[T]) watchList(ctx context.Context) (live *liveStream[T], end ending, fallback bool) {
	start := time.Now()
	live, n, answered, err := r.initialEvents(ctx)
	for r.pos.again(err) {
		live, n, answered, err = r.initialEvents(ctx)
	}
	r.opts.Metrics.Listed(time.Since(start), n, Classify(err))
	if err == nil {
		r.cutShort = 0
		return live, ending{}, false
	}
	end = failed(opWatchList, err)
	if ctx.Err() != nil {
		return nil, end, false
	}
	// What decides is whether a LIST could do better, and whether the server said no to
	// WatchList or failed at it.
	refused := false
	switch end.class {
	case ClassNotFound:
		r.listNext = true
		return nil, end, false
	case ClassRefused, classThrottled, classTLS, ClassUnauthorized, classNotAPI, classWrongKind, classSink, ClassExpired:
		// A LIST would fare no better.
		return nil, end, false
	case classNetwork, classClosed, classTimeout, ClassDecode, classFuture, ClassServer:
		if end.class == ClassServer && answered {
			// Accepted, and then not able to: etcd is too old for it.
			refused = true
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
		refused = true
	}
	// Reported, but not counted as a failure.
	now := time.Now()
	r.status.update(func(h *Health) {
		h.LastError, h.LastErrorClass, h.LastErrorTime = end.err, end.class, now
		if refused {
			h.WatchListRefusedUntil = now.Add(refusedTime)
		}
	})
	r.warn("fallback "+string(end.class), "the collection is read by LIST, as WatchList failed", "class", end.class, "error", end.err)
	return nil, end, true
}

// initialEvents reads the initial events of one watch and gives them to the
// sink. It says how many objects there were, and whether the server had
// accepted the request.
func (r *Reflector[T]) initialEvents(ctx context.Context) (live *liveStream[T], n int, answered bool, err error) {
	r.status.update(func(h *Health) { h.WatchLists++ })
	list := r.newCollectedList()
	live, err = r.connect(ctx, Request{ListOptions: r.pos.watchList(), Known: list.have()}, progressTime, errNoProgress)
	if err != nil {
		return nil, 0, false, err
	}
	r.setState(StateStreaming)
	rv, err := r.collect(live, list)
	n = len(list.index)
	if isEOF(err) { // an orderly end is one only after the bookmark
		err = errCutShort
	}
	if err == nil {
		err = r.replace(ctx, list, rv)
	}
	if err != nil {
		live.end()
		return nil, n, true, err
	}
	// From here on the order is that of the history.
	live.unordered = false
	return live, n, true, nil
}

// collect reads events into list up to the bookmark that ends the initial ones, and
// returns its resourceVersion. Two bounds: one for silence, and one for a stream that is
// busy but never complete.
func (r *Reflector[T]) collect(live *liveStream[T], list *collectedList[T]) (string, error) {
	silent := newDeadline(live.cancel, progressTime, errNoProgress)
	defer silent.stop()
	begun, window, seen := time.Now(), completionTime, 0
	for {
		ev, err := live.next()
		if err != nil {
			return "", err
		}
		r.opts.Metrics.Received(ev.Type)
		if ev.InitialEventsEnd {
			return ev.ResourceVersion, nil
		}
		if ev.Type != watch.Bookmark {
			fresh, err := list.take(ev)
			if err != nil {
				return "", err
			}
			// Only objects that are new count: a server without the bookmark goes on with
			// ordinary changes of the same objects.
			if fresh {
				silent.extend()
			}
		}
		// A large collection gets as much time as it needs.
		if elapsed := time.Since(begun); elapsed >= window {
			if float64(list.fresh-seen) < bulkRate*elapsed.Seconds() {
				return "", errNoBookmark
			}
			begun, window, seen = time.Now(), bulkWindow, list.fresh
		}
	}
}
