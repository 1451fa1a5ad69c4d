package informer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/internal/object"
)

// WaitForObject waits until the cache contains a write: written is the object
// that the server returned for a create, update or patch, of any Go type. It
// returns as soon as the watch has delivered that version of the object, a later
// one, or its deletion after that version. It waits for the source of the
// object's namespace only, and does not depend on bookmarks.
//
// A write that removed the last finalizer of an object that was being deleted has ended the object:
// the server answers with the version that was there before. Then it waits until that object (its UID) is not in
// the cache any more.
//
// If there is an object under the name in the cache, its version decides,
// whatever its UID: an older one is what was there before the write, a newer one
// has taken the name since. If there is none, what decides is whether the cache has
// got past the write. So it also returns nil for an object that was deleted
// meanwhile, or does not match the selectors of the informer; the latter after the
// next event or bookmark, so give ctx a deadline.
//
// It fails with the context's cause, with [ErrStopped], with [ErrUnreadable], or because the
// informer does not read the namespace (any more).
//
// Versions that are not numbers, as those of some aggregated API servers, cannot be compared.
// Then it waits until the object has been seen in this very version, or ctx ends: if a
// later one was there before the call, it is not seen. The informer logs that once.
//
// To wait for the end of a deletion use [Informer.WaitForDeleted].
func (inf *Informer[T]) WaitForObject(ctx context.Context, written metav1.Object) error {
	w, err := inf.seenCondition("WaitForObject", written)
	if err != nil {
		return err
	}
	err = inf.applier.progress.waitFor(ctx, w)
	return inf.waitError(err, fmt.Sprintf("%s at resourceVersion %q", object.KeyOf(written), written.GetResourceVersion()), written.GetNamespace())
}

// ended reports whether a write was the last one of its object: it is being deleted, and nothing holds it back.
// A Namespace may be held back by its spec.
func ended(written metav1.Object) bool {
	if o, ok := written.(runtime.Object); ok && o.GetObjectKind().GroupVersionKind().Kind == "Namespace" || strings.HasSuffix(fmt.Sprintf("%T", written), ".Namespace") {
		return false
	}
	grace := written.GetDeletionGracePeriodSeconds()
	return written.GetDeletionTimestamp() != nil && len(written.GetFinalizers()) == 0 && (grace == nil || *grace == 0) && written.GetUID() != ""
}

// seenCondition returns a waiter with the condition of WaitForObject and Seen.
func (inf *Informer[T]) seenCondition(caller string, written metav1.Object) (*waiter, error) {
	// A nil pointer in an interface is not a nil interface: both are caught here, rather
	// than by a panic in GetName.
	if object.IsNilPointer(written) {
		return nil, fmt.Errorf("informer %q: %s: the object is nil; pass the object that the server returned for the write", inf.name, caller)
	}
	key, rv := object.KeyOf(written), written.GetResourceVersion()
	if key.Name != "" && ended(written) {
		return &waiter{key: key, condition: func() (bool, error) { return inf.deletedLocked(key, written.GetUID()) }}, nil
	}
	if key.Name == "" || rv == "" {
		return nil, fmt.Errorf("informer %q: %s: the object %s has the resourceVersion %q; pass the object that the server returned for the write", inf.name, caller, key, rv)
	}
	seen := false // in this version, if versions cannot be compared; guarded by the mutex of progress
	w := &waiter{key: key, version: rv}
	if !isNumber(rv) {
		w.version, w.see = "", func(version string) { seen = seen || version == rv }
		inf.uncomparable.Do(func() {
			inf.log.Warn("resourceVersions are not numbers and cannot be compared: a wait for a write ends only when the object was seen in that very version", "object", key, "resourceVersion", rv)
		})
	}
	// Snapshot is safe in a condition: it takes no lock, and the snapshot is published
	// before progress is.
	w.condition = func() (bool, error) {
		s, err := inf.applier.progress.readerLocked(key.Namespace)
		if selection := inf.applier.progress.selection; err == nil && selection != nil {
			err = selection.Reads(written)
		}
		if s == nil || err != nil || !s.listed {
			return false, err
		}
		// For an object that is in the cache its own version decides. For another one, how
		// far its source is published is all there is to go by.
		have := s.reached
		if cached, ok := inf.Snapshot().Get(key); ok {
			have = cached.GetResourceVersion()
			if seen || reached(have, rv) {
				return true, nil
			}
			// The cache keeps the last state that could be read. A later one will do too.
			if oe := s.unreadable.find(key); oe != nil && oe.Key == key && reached(oe.ResourceVersion, rv) {
				return false, inf.unreadableError(s, key)
			}
			return false, nil
		}
		if err := inf.unreadableError(s, key); err != nil {
			return false, err
		}
		return seen || reached(have, rv), nil
	}
	return w, nil
}

// WaitFor waits until condition returns true for the object with this key, and
// returns the object. Condition is called in the goroutine of the caller, once the
// first list is in the cache and then for each state of the object that is
// published; exists is whether there is an object. It may miss states that did not
// last, and must not modify the object.
//
// It fails with the context's cause, with [ErrStopped], with [ErrUnreadable] if there is an object
// of which no state could be read, or because the informer does not read the namespace (any more).
func (inf *Informer[T]) WaitFor(ctx context.Context, key types.NamespacedName, condition func(obj T, exists bool) bool) (T, error) {
	var none, seen T
	switch {
	case condition == nil:
		return none, fmt.Errorf("informer %q: WaitFor: the condition is nil; pass a function that says when to return", inf.name)
	case key.Name == "":
		return none, fmt.Errorf("informer %q: WaitFor: the key has no name; pass the namespace and name of one object", inf.name)
	}
	// The caller's condition runs here, without a lock, and not in the goroutine that
	// applies changes: it may be slow, and it may use the informer.
	for first := true; ; first = false {
		obj, exists := none, false
		err := inf.applier.progress.wait(ctx, key, func() (bool, error) {
			s, err := inf.applier.progress.readerLocked(key.Namespace)
			if s == nil || err != nil || !s.listed {
				return false, err
			}
			if obj, exists = inf.Snapshot().Get(key); !exists {
				if err := inf.unreadableError(s, key); err != nil {
					return false, err
				}
			}
			// Objects are pointers, and stored objects are not modified: the same pointer is
			// the same state.
			return first || any(obj) != any(seen), nil
		})
		if err != nil {
			return none, inf.waitError(err, key.String(), key.Namespace)
		}
		if condition(obj, exists) {
			return obj, nil
		}
		// A state that was refused is not offered again; the next one differs from it.
		seen = obj
	}
}

// WaitForResourceVersion waits until the cache has reached resourceVersion: the
// one that the server returned for a write, so that the cache contains it. If the
// informer reads several namespaces, it waits for all of them, or only for those
// that are named: name the one that was written to, as another one moves on by
// the server's bookmarks, about once a minute, and one that may not be listed
// never does. [Informer.WaitForObject] does that by itself.
//
// It fails with the context's cause, with [ErrStopped], or because the informer
// does not read a namespace that is named.
//
// Versions can only be compared within one resource, and only if they are
// numbers. For one that is not a number it fails: use [Informer.WaitForObject]. The empty
// one is reached with the first list.
//
// An informer with a selector does not receive writes outside of it, and moves on
// by bookmarks too: give ctx a deadline.
func (inf *Informer[T]) WaitForResourceVersion(ctx context.Context, resourceVersion string, namespaces ...string) error {
	if resourceVersion != "" && !isNumber(resourceVersion) {
		return fmt.Errorf("informer %q: resourceVersion %q is not a number and cannot be compared; use WaitForObject", inf.name, resourceVersion)
	}
	err := inf.applier.progress.wait(ctx, types.NamespacedName{}, func() (bool, error) {
		if len(namespaces) == 0 {
			// Every source must get there: the version does not say which namespace it is of.
			behind := func(s *source[T]) bool { return !reached(s.reached, resourceVersion) }
			return inf.applier.progress.synced() && !slices.ContainsFunc(inf.applier.progress.sources, behind), nil
		}
		for _, namespace := range namespaces {
			s, err := inf.applier.progress.readerLocked(namespace)
			if s == nil || err != nil {
				return false, err
			}
			if !s.listed || !reached(s.reached, resourceVersion) {
				return false, nil
			}
		}
		return true, nil
	})
	return inf.waitError(err, fmt.Sprintf("resourceVersion %q", resourceVersion), namespaces...)
}

// WaitForDeleted waits until the object with this key and UID is not in the
// cache: there is none with the key, or it is another one. An empty uid stands
// for any. It waits for the source of the key's namespace only: an object that was
// never in the cache counts as deleted once that has listed, and one of a
// namespace that the informer does not read as soon as Run was called.
//
// It fails with the context's cause, with [ErrStopped], or with [ErrUnreadable]: an object
// that cannot be read is not deleted. It also fails with the error of the list or the watch
// if the server has responded with 404 for half a minute: that proves nothing about the object.
func (inf *Informer[T]) WaitForDeleted(ctx context.Context, key types.NamespacedName, uid types.UID) error {
	err := inf.applier.progress.wait(ctx, key, func() (bool, error) { return inf.deletedLocked(key, uid) })
	return inf.waitError(err, key.String()+" to be deleted", key.Namespace)
}

// deletedLocked is the condition of WaitForDeleted.
func (inf *Informer[T]) deletedLocked(key types.NamespacedName, uid types.UID) (bool, error) {
	s := inf.applier.progress.sourceLocked(key.Namespace)
	if !inf.applier.progress.started || s != nil && !s.listed {
		return false, nil
	}
	obj, ok := inf.Snapshot().Get(key)
	if !ok && s != nil {
		// Another UID under the same name means that the object in question is gone.
		oe := s.unreadable.find(key)
		if oe != nil && (uid == "" || oe.UID == "" || oe.UID == uid || oe.Key != key) {
			return false, inf.unreadableError(s, key)
		}
	}
	if ok && (uid == "" || obj.GetUID() == uid) {
		if s != nil && s.missing.Load() != nil {
			return false, fmt.Errorf("informer %q: whether %s was deleted is not known: %w", inf.name, key, *s.missing.Load())
		}
		return false, nil
	}
	return true, nil
}

// WaitUntil waits until a condition on the selection is met, which it checks after each change of the
// cache, with locks held. It fails with the error of the condition, the context's cause or [ErrStopped].
// What it waits for is for the error.
func (s Selected[T]) WaitUntil(ctx context.Context, what string, condition func() (bool, error)) error {
	err := s.Informer.applier.progress.wait(ctx, types.NamespacedName{}, func() (bool, error) {
		met, err := condition()
		return met && s.Informer.applier.progress.started, err
	})
	return s.Informer.waitError(err, what)
}

// unreadableError returns why an object of s may be unreadable, or nil. The cause is not wrapped: it
// may be a NotFound of a Transform.
func (inf *Informer[T]) unreadableError(s *source[T], key types.NamespacedName) error {
	oe := s.unreadable.find(key)
	if oe == nil {
		return nil
	}
	if oe.Key != key {
		return fmt.Errorf("informer %q: whether %s exists is not known: %w: %v", inf.name, key, ErrUnreadable, oe)
	}
	return fmt.Errorf("informer %q: %s: %w: %v", inf.name, key, ErrUnreadable, oe)
}

// waitError says what was waited for in vain, and how far the cache has got: in
// some namespaces, or in all.
func (inf *Informer[T]) waitError(err error, what string, namespaces ...string) error {
	if err == nil {
		return nil
	}
	// listed and reached of the sources need it.
	inf.applier.progress.mu.Lock()
	defer inf.applier.progress.mu.Unlock()
	var at []string
	errs := []error{err}
	for _, s := range inf.applier.progress.sources {
		if len(namespaces) > 0 && s.namespace != "" && !slices.Contains(namespaces, s.namespace) {
			continue
		}
		if !s.listed {
			errs = append(errs, s.whyUnlisted())
			continue
		}
		at = append(at, fmt.Sprintf("%sat resourceVersion %q now", s.where(), s.reached))
		if h := s.reflector.Health(); !h.DegradedSince.IsZero() && !errors.Is(err, h.LastError) {
			errs = append(errs, h.LastError)
		}
	}
	if len(at) > 0 {
		what += " (" + strings.Join(at, ", ") + ")"
	}
	return fmt.Errorf("informer %q: waiting for %s: %w", inf.name, what, joinedError(errs))
}

// joinedError is errors.Join on one line.
type joinedError []error

// Error lists all reasons.
func (j joinedError) Error() string {
	return strings.ReplaceAll(errors.Join(j...).Error(), "\n", "; ")
}

// Unwrap returns all reasons.
func (j joinedError) Unwrap() []error { return j }
