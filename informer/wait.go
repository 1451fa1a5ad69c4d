package informer

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"
)

// WaitForResourceVersion waits until the cache has reached resourceVersion: the
// one that the server returned for a write, so that the cache contains it. It
// returns the context's cause or [ErrStopped] if that comes first.
//
// Versions can only be compared within one resource, and only if they are
// numbers, as those of every known API server are. For one that is not a number
// it returns nil as soon as the informer is synced.
//
// An informer with a selector is not told of writes outside of it, and moves on
// by the server's bookmarks, about once a minute: give ctx a deadline.
func (inf *Informer[T]) WaitForResourceVersion(ctx context.Context, resourceVersion string) error {
	err := inf.waitUntil(ctx, func(now view[T]) bool {
		return atLeast(now.rv, resourceVersion)
	})
	if err != nil {
		return fmt.Errorf("informer %q: waiting for resourceVersion %q, at %q now: %w",
			inf.name, resourceVersion, inf.events.State().rv, err)
	}
	return nil
}

// WaitForDeleted waits until the object with this key and UID is not in the
// cache: there is none with the key, or it is another one. An empty uid stands
// for any. An object that was never in the cache counts as deleted once the
// informer is synced. It returns the context's cause or [ErrStopped] if that
// comes first.
func (inf *Informer[T]) WaitForDeleted(ctx context.Context, key types.NamespacedName, uid types.UID) error {
	err := inf.waitUntil(ctx, func(now view[T]) bool {
		obj, ok := now.snap.Get(key)
		return !ok || uid != "" && obj.GetUID() != uid
	})
	if err != nil {
		return fmt.Errorf("informer %q: waiting for %s to be deleted: %w", inf.name, key, err)
	}
	return nil
}

// waitUntil waits until all sources have listed and done holds for the cache.
func (inf *Informer[T]) waitUntil(ctx context.Context, done func(view[T]) bool) error {
	met := func() bool {
		now := inf.events.State()
		return now.synced && done(now)
	}
	if met() {
		return nil
	}
	w := &waiter[T]{done: done, met: make(chan struct{})}
	inf.waiters.add(w)
	defer inf.waiters.remove(w)
	// A snapshot that was published in between would not be looked at again.
	if met() {
		return nil
	}
	select {
	case <-w.met:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-inf.stopped:
		return ErrStopped
	}
}

// waiters are those who wait for the cache to reach a state.
type waiters[T Object] struct {
	n   atomic.Int32
	mu  sync.Mutex
	all map[*waiter[T]]struct{}
}

type waiter[T Object] struct {
	done func(view[T]) bool
	met  chan struct{}
}

func (ws *waiters[T]) add(w *waiter[T]) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.all == nil {
		ws.all = map[*waiter[T]]struct{}{}
	}
	ws.all[w] = struct{}{}
	ws.n.Store(int32(len(ws.all)))
}

func (ws *waiters[T]) remove(w *waiter[T]) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	delete(ws.all, w)
	ws.n.Store(int32(len(ws.all)))
}

// check looks who waits for no longer. Without waiters it costs one load.
func (ws *waiters[T]) check(now view[T]) {
	if !now.synced || ws.n.Load() == 0 {
		return
	}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for w := range ws.all {
		if w.done(now) {
			close(w.met)
			delete(ws.all, w)
		}
	}
	ws.n.Store(int32(len(ws.all)))
}

// resourceVersion returns how far the cache as a whole has got: the least
// version among those of its sources. It is called with applying held.
func (inf *Informer[T]) resourceVersion() string {
	if len(inf.sources) == 0 {
		return ""
	}
	rv := inf.sources[0].rv
	for _, s := range inf.sources[1:] {
		if !atLeast(s.rv, rv) {
			rv = s.rv
		}
	}
	return rv
}

// atLeast reports whether the resourceVersion have is want or later. If one of
// them is not a number there is no telling, and the answer is yes, except for
// the empty version of a cache that has not got anywhere.
func atLeast(have, want string) bool {
	if have == want || !isNumber(want) {
		return true
	}
	if have == "" {
		return false
	}
	if !isNumber(have) {
		return true
	}
	have, want = strings.TrimLeft(have, "0"), strings.TrimLeft(want, "0")
	if len(have) != len(want) {
		return len(have) > len(want)
	}
	return have >= want
}

func isNumber(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
