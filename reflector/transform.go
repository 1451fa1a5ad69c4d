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

// transformed implements [ListerWatcher], and the optional interfaces of the source
// within, which would be hidden otherwise.
type transformed[In, Out Object] struct {
	lw ListerWatcher[In]
	fn func(In) (Out, error)
}

// validate reports a source or function that is missing, here or further inside.
func (t *transformed[In, Out]) validate() error {
	if t.lw == nil || t.fn == nil {
		return errors.New("reflector: Transform needs a ListerWatcher and a function")
	}
	if v, ok := t.lw.(validator); ok {
		return v.validate()
	}
	return nil
}

// SupportsWatchList is what the source says.
func (t *transformed[In, Out]) SupportsWatchList() bool {
	w, ok := t.lw.(watchLister)
	return ok && w.SupportsWatchList()
}

// String is the name of the source.
func (t *transformed[In, Out]) String() string { return sourceName(t.lw) }

// Namespace is that of the source.
func (t *transformed[In, Out]) Namespace() string { return sourceNamespace(t.lw) }

// Selector is that of the source.
func (t *transformed[In, Out]) Selector() string {
	if s, ok := t.lw.(interface{ Selector() string }); ok {
		return s.Selector()
	}
	return ""
}

// checker asks the source: nothing is there to be transformed.
func (t *transformed[In, Out]) checker() versionChecker { return checkerOf(t.lw) }

// resourceChecker asks the source.
func (t *transformed[In, Out]) resourceChecker() resourceChecker { return resourceCheckerOf(t.lw) }

// metadata is that of the source: the identity of objects is not transformed.
func (t *transformed[In, Out]) metadata() (ListerWatcher[*metav1.PartialObjectMetadata], error) {
	return metadataOf(t.lw)
}

// List implements [ListerWatcher].
func (t *transformed[In, Out]) List(ctx context.Context, opts metav1.ListOptions, each func(Out, error) error) (metav1.ListMeta, error) {
	n := 0
	return t.lw.List(ctx, opts, func(in In, err error) error {
		var out Out
		if err == nil {
			out, err = t.apply(in, n)
		}
		n++
		return each(out, err)
	})
}

// Watch implements [ListerWatcher].
func (t *transformed[In, Out]) Watch(ctx context.Context, opts metav1.ListOptions) (Stream[Out], error) {
	s, err := t.lw.Watch(ctx, opts)
	if err != nil {
		return nil, err
	}
	return &transformedStream[In, Out]{Stream: s, t: t}, nil
}

// transformedStream transforms events one by one, in the goroutine of the caller.
type transformedStream[In, Out Object] struct {
	Stream[In]
	t *transformed[In, Out]
	n int
}

// Next implements [Stream].
func (s *transformedStream[In, Out]) Next() (WatchEvent[Out], error) {
	ev, err := s.Stream.Next()
	if err != nil {
		return WatchEvent[Out]{}, err
	}
	out := WatchEvent[Out]{Type: ev.Type, ResourceVersion: ev.ResourceVersion, InitialEventsEnd: ev.InitialEventsEnd, Err: ev.Err}
	// A bookmark has no object, and an event that cannot be read has none either.
	if ev.Err == nil && !object.IsNil(ev.Object) {
		out.Object, out.Err = s.t.apply(ev.Object, s.n)
	}
	s.n++
	return out, nil
}

// identity is what a transform must not change.
type identity struct {
	types.NamespacedName
	uid types.UID
	rv  string
}

// apply calls fn and restores the identity.
func (t *transformed[In, Out]) apply(in In, position int) (Out, error) {
	// Before fn is called: it may modify the object that it gets.
	id := identity{
		NamespacedName: types.NamespacedName{Namespace: in.GetNamespace(), Name: in.GetName()},
		uid:            in.GetUID(),
		rv:             in.GetResourceVersion(),
	}
	out, err := t.call(in)
	if err == nil && object.IsNil(out) {
		err = errors.New("the transform returned nil")
	}
	if err != nil {
		var none Out
		return none, &ObjectError{
			Key: id.NamespacedName, UID: id.uid, ResourceVersion: id.rv, Position: position, Class: ClassTransform, Err: err,
		}
	}
	restore(out, id)
	return out, nil
}

// call turns a panic of fn into an error.
func (t *transformed[In, Out]) call(in In) (out Out, err error) {
	defer func() {
		// Of one object, so that it is quarantined, and all others are read.
		if p := recover(); p != nil {
			err = fmt.Errorf("the transform panicked: %v\n%s", p, debug.Stack())
		}
	}()
	return t.fn(in)
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
