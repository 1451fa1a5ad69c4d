package informertest

import (
	"context"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// lastBookmark is how long before its timeout a watch gets a bookmark, so that
// the client can resume close to the present.
const lastBookmark = 2 * time.Second

// watcher serves one watch. It needs no goroutine and no buffer of its own: it
// is a cursor into the history of the collection. One that falls behind what
// the history keeps gets 410.
type watcher struct {
	store *store
	c     *collection
	sel   selection
	view  view
	out   http.ResponseWriter
	flush func() error
	// hang waits for the client or the server to end; tamper may be nil.
	hang   func()
	tamper *tamper
	// rv is the version up to which the client knows everything.
	rv uint64
}

// send writes one event. The client sees it after the next flush at the latest.
func (w *watcher) send(typ watch.EventType, object []byte) error {
	frame := w.view.event(typ, object)
	if w.tamper != nil {
		return w.tamper.send(w, typ, frame)
	}
	return w.write(frame)
}

// write writes bytes as they are.
func (w *watcher) write(frame []byte) error {
	_, err := w.out.Write(frame)
	return err
}

// sendVersion writes an event about an object.
func (w *watcher) sendVersion(typ watch.EventType, v *version) error {
	object, err := w.view.object(v)
	if err != nil {
		return err
	}
	return w.send(typ, object)
}

// sendError writes an ERROR event, the only way to say something after the
// header of the response is sent.
func (w *watcher) sendError(err error) {
	if object, encodeErr := w.view.status(err); encodeErr == nil {
		_ = w.write(w.view.event(watch.Error, object)) // the watch ends anyway
	}
}

// sendBookmark writes a bookmark at the cursor.
func (w *watcher) sendBookmark(initialEventsEnd bool) error {
	object, err := w.view.bookmark(w.rv, initialEventsEnd)
	if err != nil {
		return err
	}
	return w.send(watch.Bookmark, object)
}

// sendChange writes what a change means to this watch: an object that comes to
// match the selectors is added, one that ceases to is deleted.
func (w *watcher) sendChange(ch change) error {
	was := ch.old != nil && ch.old.matches(w.sel)
	is := ch.new != nil && ch.new.matches(w.sel)
	switch {
	case is && was:
		return w.sendVersion(watch.Modified, ch.new)
	case is:
		return w.sendVersion(watch.Added, ch.new)
	case !was:
		return nil
	case ch.last != nil:
		return w.sendVersion(watch.Deleted, ch.last)
	}
	return w.sendVersion(watch.Deleted, ch.old.at(ch.rv))
}

// initial writes the present state as added objects and moves the cursor to it.
func (w *watcher) initial() error {
	w.store.mu.Lock()
	items := w.c.selectLocked(w.sel)
	rv := w.store.rv
	w.store.mu.Unlock()
	for _, v := range items {
		if err := w.sendVersion(watch.Added, v); err != nil {
			return err
		}
	}
	w.rv = rv
	return nil
}

// follow writes changes and bookmarks until the time is over, the client or the
// server ends, or the cursor is lost. interval < 0 sends no bookmarks.
func (w *watcher) follow(ctx context.Context, closing <-chan struct{}, timeout, interval time.Duration) error {
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	bookmark := newTimer(interval)
	defer bookmark.Stop()
	last := newTimer(timeout - lastBookmark)
	if interval < 0 {
		last.Stop()
	}
	defer last.Stop()
	for running, due, over := false, false, false; ; running = true {
		w.store.mu.Lock()
		changes, ok := w.c.sinceLocked(w.rv, running)
		current, compacted, changed := w.store.rv, w.c.compacted, w.c.changed
		w.store.mu.Unlock()
		if !ok {
			w.sendError(errExpiredWatch(w.rv, compacted))
			return nil
		}
		for _, ch := range changes {
			if err := w.sendChange(ch); err != nil {
				return err
			}
		}
		// Everything up to the present version is sent, so that a bookmark may
		// say so. A watch from the future stays there, in silence.
		due = due && w.rv <= current
		w.rv = max(w.rv, current)
		if due {
			if err := w.sendBookmark(false); err != nil {
				return err
			}
		}
		if len(changes) > 0 || due {
			if err := w.flush(); err != nil {
				return err
			}
		}
		if over {
			return nil
		}
		due = false
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-closing:
			return nil
		case <-w.c.gone: // there may be deletions to show
			over = true
		case <-deadline.C:
			return nil
		case <-bookmark.C:
			bookmark.Reset(interval)
			due = true
		case <-last.C:
			due = true
		}
	}
}

// newTimer returns a timer that never fires if d is not positive.
func newTimer(d time.Duration) *time.Timer {
	t := time.NewTimer(max(d, 0))
	if d <= 0 {
		t.Stop()
	}
	return t
}

// serve answers a watch whose header may be sent. Errors from here on are events.
func (w *watcher) serve(ctx context.Context, closing <-chan struct{}, q listQuery, rv uint64, opts Options) error {
	initial := q.sendInitialEvents() || q.SendInitialEvents == nil && rv == 0
	// A client that has seen the header counts on seeing every later write: where
	// the watch begins must be settled before.
	if w.rv = rv; rv == 0 && !initial {
		w.rv = w.store.revision()
	}
	if err := w.flush(); err != nil {
		return err
	}
	if err := w.tamper.begin(w); err != nil {
		return err
	}
	if initial {
		if err := w.store.await(ctx, rv, opts.FreshnessTimeout); err != nil {
			w.sendError(err)
			return nil
		}
		if err := w.initial(); err != nil {
			return err
		}
		if q.sendInitialEvents() && q.AllowWatchBookmarks {
			if err := w.sendBookmark(true); err != nil {
				return err
			}
		}
		if err := w.flush(); err != nil {
			return err
		}
	}
	timeout := opts.WatchTimeout
	if q.TimeoutSeconds != nil && *q.TimeoutSeconds > 0 {
		timeout = time.Duration(*q.TimeoutSeconds) * time.Second
	}
	interval := opts.BookmarkInterval
	if !q.AllowWatchBookmarks {
		interval = -1
	}
	return w.follow(ctx, closing, timeout, interval)
}

// listQuery are the options of a list or watch, decoded.
type listQuery struct{ metav1.ListOptions }

// sendInitialEvents reports whether the watch begins with the present state and a
// bookmark behind it (KEP-3157).
func (q listQuery) sendInitialEvents() bool {
	return q.SendInitialEvents != nil && *q.SendInitialEvents
}
