package reflector

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/internal/object"
	"github.com/informerkit/informerkit/reflector/internal/wire"
)

// unchanged takes the place of an object that the sink has already, in the version
// that the server sent. As an error it passes whatever wraps the source.
type unchanged[T Object] struct{ obj T }

// Error is not seen by users.
func (unchanged[T]) Error() string { return "the object has not changed" }

// Unchanged implements [wire.Unchanged].
func (unchanged[T]) Unchanged() {}

// unchangedObject returns the object of the sink that err stands for.
func unchangedObject[T Object](err error) (obj T, ok bool) {
	u, ok := err.(unchanged[T]) //nolint:errorlint // nearly always the bare value
	if ok || err == nil {
		return u.obj, ok
	}
	var wrapped unchanged[T]
	ok = errors.As(err, &wrapped)
	return wrapped.obj, ok
}

// known returns the sink, if it says what it has; else nil.
func (r *Reflector[T]) known() Known[T] {
	k, _ := r.sink.(Known[T])
	return k
}

// withKnown returns the context of a request of a list: what the sink has is not
// decoded again.
func (r *Reflector[T]) withKnown(ctx context.Context, list *collectedList[T]) context.Context {
	if list == nil || !list.reuse {
		return ctx
	}
	return withUnchanged(ctx, list.known.Known)
}

// withUnchanged returns a context under which objects that have returns in the same
// version are not decoded.
func withUnchanged[T Object](ctx context.Context, have func(types.NamespacedName) (T, bool)) context.Context {
	return wire.WithKnown(ctx, func(key types.NamespacedName, uid, rv []byte) wire.Unchanged {
		// Compared as bytes of the message: no string is allocated for an object that
		// is known.
		old, ok := have(key)
		if !ok || object.IsNil(old) || old.GetResourceVersion() != string(rv) || string(old.GetUID()) != string(uid) {
			return nil
		}
		return unchanged[T]{old}
	})
}
