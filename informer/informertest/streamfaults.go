package informertest

import (
	"errors"
	"net/http"

	"k8s.io/apimachinery/pkg/watch"
)

// errWatchOver ends a watch cleanly.
var errWatchOver = errors.New("informertest: the watch is over")

// tamper changes the events of one watch. Exactly one of the functions is set.
type tamper struct {
	// after acts once so many events are sent: before the first one for 0.
	after func(w *watcher) error
	// instead acts in place of the event that follows so many.
	instead func(w *watcher, frame []byte) error
	events  int
	// edit decides what is sent for each event.
	edit func(t *tamper, typ watch.EventType, frame []byte) [][]byte
	held []byte

	seen int
}

// begin acts before the first event. A nil tamper does nothing.
func (t *tamper) begin(w *watcher) error {
	if t == nil || t.after == nil || t.events > 0 {
		return nil
	}
	return t.after(w)
}

// send sends what is to be sent for an event.
func (t *tamper) send(w *watcher, typ watch.EventType, frame []byte) error {
	n := t.seen
	t.seen++
	switch {
	case t.edit != nil:
		for _, f := range t.edit(t, typ, frame) {
			if err := w.write(f); err != nil {
				return err
			}
		}
		return nil
	case t.instead != nil && n == t.events:
		return errors.Join(w.flush(), t.instead(w, frame))
	}
	if err := w.write(frame); err != nil {
		return err
	}
	if t.after != nil && t.seen == t.events {
		return errors.Join(w.flush(), t.after(w))
	}
	return nil
}

// finish sends what is held back, at the end of a watch.
func (t *tamper) finish(w *watcher) {
	if t != nil && t.held != nil {
		_ = w.write(t.held) // the watch ends anyway
	}
}

// after returns an effect that happens once n events are sent.
func after(n int, action func(w *watcher) error) Effect {
	return Effect{stream: func() *tamper { return &tamper{events: n, after: action} }}
}

// instead returns an effect that happens in place of the event that follows n.
func instead(n int, action func(w *watcher, frame []byte) error) Effect {
	return Effect{stream: func() *tamper { return &tamper{events: n, instead: action} }}
}

// editing returns an effect on each event.
func editing(edit func(t *tamper, typ watch.EventType, frame []byte) [][]byte) Effect {
	return Effect{stream: func() *tamper { return &tamper{edit: edit} }}
}

// EndWatch ends a watch cleanly as soon as it has sent n events, bookmarks
// included.
func EndWatch(n int) Effect {
	return after(n, func(*watcher) error { return errWatchOver })
}

// BreakWatch breaks the connection of a watch as soon as n events are sent.
func BreakWatch(n int) Effect {
	return after(n, func(*watcher) error { panic(http.ErrAbortHandler) })
}

// StallWatch sends nothing more after n events, not even bookmarks, and does not
// end the watch at its timeout: a connection that is half open.
func StallWatch(n int) Effect {
	return after(n, func(w *watcher) error {
		w.hang()
		return errWatchOver
	})
}

// FailWatch sends an ERROR event as soon as n events are sent, and ends the watch.
func FailWatch(n int, err error) Effect {
	return after(n, func(w *watcher) error {
		w.sendError(err)
		return errWatchOver
	})
}

// BreakWatchInside breaks the connection of a watch in the middle of the event
// that follows the first n.
func BreakWatchInside(n int) Effect {
	return instead(n, func(w *watcher, frame []byte) error {
		if err := errors.Join(w.write(frame[:len(frame)/2]), w.flush()); err != nil {
			return err
		}
		panic(http.ErrAbortHandler)
	})
}

// TruncateWatch ends a watch cleanly in the middle of the event that follows
// the first n.
func TruncateWatch(n int) Effect {
	return instead(n, func(w *watcher, frame []byte) error {
		return errors.Join(w.write(frame[:len(frame)/2]), errWatchOver)
	})
}

// GarbleWatch sends bytes of your own in place of the event that follows the
// first n, and goes on.
func GarbleWatch(n int, bytes string) Effect {
	return instead(n, func(w *watcher, _ []byte) error { return w.write([]byte(bytes)) })
}

// ReplaceEvent sends an event of your own, its object given as JSON, in place of
// the one that follows the first n, and goes on. Use it for unknown event types
// and objects of the wrong kind, in watches that are served as JSON.
func ReplaceEvent(n int, typ watch.EventType, object string) Effect {
	return instead(n, func(w *watcher, _ []byte) error { return w.write(w.view.event(typ, []byte(object))) })
}

// DuplicateEvents sends each event of a watch twice.
func DuplicateEvents() Effect {
	return editing(func(_ *tamper, _ watch.EventType, frame []byte) [][]byte { return [][]byte{frame, frame} })
}

// ReorderEvents swaps each event of a watch with the next: the first waits until
// the second is sent, or the watch ends. An API server never does this.
func ReorderEvents() Effect {
	return editing(func(t *tamper, _ watch.EventType, frame []byte) [][]byte {
		if t.held == nil {
			t.held = frame
			return nil
		}
		first := t.held
		t.held = nil
		return [][]byte{frame, first}
	})
}

// SwallowBookmarks sends no bookmark on a watch, not even the one that ends the
// initial events: what old servers and some proxies do.
func SwallowBookmarks() Effect {
	return editing(func(_ *tamper, typ watch.EventType, frame []byte) [][]byte {
		if typ == watch.Bookmark {
			return nil
		}
		return [][]byte{frame}
	})
}
