package reflector

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/internal/object"
)

// Transform returns a source that hands over what fn makes of each object of
// lw, so that everything behind it sees nothing else. Out may be another type
// than In: a projection, which keeps only what the program needs in memory.
//
// fn is called once for each object received, in lists and in events of every
// type, before anything else sees the object; it may modify it and return it.
// Namespace, name, UID and resourceVersion are what the whole library works
// with: they are read before fn is called and put back if fn has blanked or
// changed them, so that a projection need not copy them.
//
// An object for which fn returns an error or nil, or panics, is quarantined as
// an *[ObjectError] of [ClassTransform]; the others flow.
//
// fn is called from one goroutine at a time by one [Reflector], but from
// several if the source is shared.
func Transform[In, Out Object](lw ListerWatcher[In], fn func(In) (Out, error)) ListerWatcher[Out] {
	return &transformed[In, Out]{lw: lw, fn: fn}
}

// transformed implements [ListerWatcher].
type transformed[In, Out Object] struct {
	lw ListerWatcher[In]
	fn func(In) (Out, error)
}

// Unwrap returns the source within; see [As].
func (t *transformed[In, Out]) Unwrap() any { return t.lw }

// validate reports a source or function that is missing.
func (t *transformed[In, Out]) validate() error {
	if t.lw == nil || t.fn == nil {
		return errors.New("reflector: Transform needs a ListerWatcher and a function")
	}
	return nil
}

// List implements [ListerWatcher].
func (t *transformed[In, Out]) List(ctx context.Context, req Request, each func(WatchEvent[Out]) error) (metav1.ListMeta, error) {
	n := 0
	return t.lw.List(ctx, req, func(ev WatchEvent[In]) error {
		n++
		return each(t.apply(ev, n-1))
	})
}

// Watch implements [ListerWatcher].
func (t *transformed[In, Out]) Watch(ctx context.Context, req Request) (Stream[Out], error) {
	s, err := t.lw.Watch(ctx, req)
	if err != nil {
		return nil, err
	}
	return &transformedStream[In, Out]{stream: s, t: t}, nil
}

// transformedStream transforms events one by one, in the goroutine of the caller.
type transformedStream[In, Out Object] struct {
	stream Stream[In]
	t      *transformed[In, Out]
	n      int
}

// Unwrap returns the stream within; see [As].
func (s *transformedStream[In, Out]) Unwrap() any { return s.stream }

// Close implements [Stream].
func (s *transformedStream[In, Out]) Close() error { return s.stream.Close() }

// Next implements [Stream].
func (s *transformedStream[In, Out]) Next() (WatchEvent[Out], error) {
	ev, err := s.stream.Next()
	if err != nil {
		return WatchEvent[Out]{}, err
	}
	s.n++
	return s.t.apply(ev, s.n-1), nil
}

// apply transforms the object of an event, if it has one: a bookmark has none, nor has
// an event that could not be read. One that is known was transformed before.
func (t *transformed[In, Out]) apply(ev WatchEvent[In], position int) WatchEvent[Out] {
	out := WatchEvent[Out]{Type: ev.Type, Known: ev.Known, ResourceVersion: ev.ResourceVersion, InitialEventsEnd: ev.InitialEventsEnd, Err: ev.Err}
	if ev.Err != nil || ev.Known != nil || object.IsNil(ev.Object) {
		return out
	}
	var id identity
	obj, err := t.call(ev.Object, &id)
	if err != nil {
		out.Err = &ObjectError{
			Key: id.NamespacedName, UID: id.uid, ResourceVersion: id.rv, Position: position, Class: ClassTransform, Err: err,
		}
		return out
	}
	out.Object = obj
	return out
}

// identity is what a transform must not change.
type identity struct {
	types.NamespacedName
	uid types.UID
	rv  string
}

// call transforms an object, of which it sets id. A panic of fn, or of a method of either type,
// becomes an error: of one object, so that it is quarantined, and all others are read.
func (t *transformed[In, Out]) call(in In, id *identity) (out Out, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the transform panicked: %v\n%s", p, debug.Stack())
		}
	}()
	// Before fn is called: it may modify the object that it gets.
	*id = identity{object.KeyOf(in), in.GetUID(), in.GetResourceVersion()}
	if out, err = t.fn(in); err == nil && object.IsNil(out) {
		err = errors.New("the transform returned nil")
	}
	if err == nil {
		restore(out, *id)
	}
	return out, err
}

// restore writes only what differs: fn may return an object that is shared.
func restore(obj metav1.Object, id identity) {
	if obj.GetNamespace() != id.Namespace {
		obj.SetNamespace(id.Namespace)
	}
	if obj.GetName() != id.Name {
		obj.SetName(id.Name)
	}
	if obj.GetUID() != id.uid {
		obj.SetUID(id.uid)
	}
	if obj.GetResourceVersion() != id.rv {
		obj.SetResourceVersion(id.rv)
	}
}

// StripManagedFields is a function for [Transform] that drops
// metadata.managedFields, the record of who has set which field: a good part of
// most objects, and of no use to most controllers.
//
//	lw = reflector.Transform(lw, reflector.StripManagedFields[*corev1.Pod])
func StripManagedFields[T Object](obj T) (T, error) {
	if obj.GetManagedFields() != nil {
		obj.SetManagedFields(nil)
	}
	return obj, nil
}
