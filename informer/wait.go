package informer

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/internal/object"
)

// WaitForObject waits until the cache contains a write: written is the object
// that the server returned for a create, update or patch, of any Go type. It
// returns as soon as the watch has delivered that version of the object, a later
// one, or its deletion after that version. It waits for the source of the
// object's namespace only, and does not depend on bookmarks.
//
// If there is an object under the name in the cache, its version decides,
// whatever its UID: an older one is what was there before the write, a newer one
// has taken the name since. If there is none, what decides is whether the cache has
// got past the write. So it also returns nil for an object that was deleted
// meanwhile, or does not match the selectors of the informer; the latter after the
// next event or bookmark, so give ctx a deadline.
//
// It fails with the context's cause, with [ErrStopped], or because the informer
// does not read the namespace (any more). Versions that are not numbers cannot be
// compared: then it returns nil as soon as the source has listed.
//
// To wait for the end of a deletion use [Informer.WaitForDeleted].
func (inf *Informer[T]) WaitForObject(ctx context.Context, written metav1.Object) error {
	if v := reflect.ValueOf(written); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return fmt.Errorf("informer %q: WaitForObject: the object is nil", inf.name)
	}
	key, rv := object.KeyOf(written), written.GetResourceVersion()
	if key.Name == "" || rv == "" {
		return fmt.Errorf("informer %q: WaitForObject: the object %s has the resourceVersion %q; pass the object that the server returned for the write", inf.name, key, rv)
	}
	err := inf.wait(ctx, func() (bool, error) {
		s := inf.progress.source(key.Namespace)
		if s == nil {
			return false, notRead(key.Namespace)
		}
		have := s.reached.rv
		if cached, ok := inf.Snapshot().Get(key); ok {
			have = cached.GetResourceVersion()
		}
		return s.reached.listed && atLeast(have, rv), nil
	})
	return inf.waitError(err, fmt.Sprintf("%s at resourceVersion %q", key, rv), key.Namespace)
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
// numbers, as those of every known API server are. For one that is not a number
// it returns nil as soon as the sources have listed.
//
// An informer with a selector does not receive writes outside of it, and moves on
// by bookmarks too: give ctx a deadline.
func (inf *Informer[T]) WaitForResourceVersion(ctx context.Context, resourceVersion string, namespaces ...string) error {
	err := inf.wait(ctx, func() (bool, error) {
		if len(namespaces) == 0 {
			behind := func(s *source[T]) bool { return !atLeast(s.reached.rv, resourceVersion) }
			return inf.progress.synced && !slices.ContainsFunc(inf.progress.sources, behind), nil
		}
		for _, namespace := range namespaces {
			s := inf.progress.source(namespace)
			if s == nil {
				return false, notRead(namespace)
			}
			if !s.reached.listed || !atLeast(s.reached.rv, resourceVersion) {
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
// It fails with the context's cause or with [ErrStopped].
func (inf *Informer[T]) WaitForDeleted(ctx context.Context, key types.NamespacedName, uid types.UID) error {
	err := inf.wait(ctx, func() (bool, error) {
		s := inf.progress.source(key.Namespace)
		if !inf.started.Load() || s != nil && !s.reached.listed {
			return false, nil
		}
		obj, ok := inf.Snapshot().Get(key)
		return !ok || uid != "" && obj.GetUID() != uid, nil
	})
	return inf.waitError(err, key.String()+" to be deleted", key.Namespace)
}

func (inf *Informer[T]) wait(ctx context.Context, condition func() (bool, error)) error {
	return inf.progress.wait(ctx, inf.stopped, condition)
}

func notRead(namespace string) error {
	return fmt.Errorf("it does not read namespace %q; add it with AddNamespace", namespace)
}

// waitError says what was waited for in vain, and how far the cache has got: in
// some namespaces, or in all.
func (inf *Informer[T]) waitError(err error, what string, namespaces ...string) error {
	if err == nil {
		return nil
	}
	inf.progress.mu.Lock()
	defer inf.progress.mu.Unlock()
	var at []string
	errs := []error{err}
	for _, s := range inf.progress.sources {
		if len(namespaces) > 0 && s.namespace != "" && !slices.Contains(namespaces, s.namespace) {
			continue
		}
		if why := s.unsynced(); why != nil {
			errs = append(errs, why)
			continue
		}
		at = append(at, fmt.Sprintf("%sat resourceVersion %q now", s.where(), s.reached.rv))
	}
	if len(at) > 0 {
		what += " (" + strings.Join(at, ", ") + ")"
	}
	return fmt.Errorf("informer %q: waiting for %s: %w", inf.name, what, joinedError(errs))
}

// joinedError is errors.Join on one line.
type joinedError []error

func (j joinedError) Error() string {
	return strings.ReplaceAll(errors.Join(j...).Error(), "\n", "; ")
}

func (j joinedError) Unwrap() []error { return j }
