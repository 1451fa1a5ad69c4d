package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/informerkit/informerkit/internal/object"
	"github.com/informerkit/informerkit/reflector/internal/wire"
)

// FromFuncs returns a source made of the two functions that every generated
// clientset offers:
//
//	pods := client.CoreV1().Pods("default")
//	lw := reflector.FromFuncs[*corev1.Pod](pods.List, pods.Watch)
//
// The items of the list that list returns are copied out of it one by one, so
// that an object kept for long does not keep the whole list in memory. A list
// made in this way is in memory as a whole; that of [NewResource] is not.
//
// Fake clientsets ignore sendInitialEvents, so the Reflector does not ask for
// it, unless [Options].Sync says so.
func FromFuncs[T Object, L runtime.Object](
	list func(ctx context.Context, opts metav1.ListOptions) (L, error),
	watch func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error),
) ListerWatcher[T] {
	return &funcs[T, L]{list: list, watch: watch}
}

// funcs implements [ListerWatcher] with two functions.
type funcs[T Object, L runtime.Object] struct {
	list  func(context.Context, metav1.ListOptions) (L, error)
	watch func(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// validate reports functions that are missing.
func (f *funcs[T, L]) validate() error {
	if f.list == nil || f.watch == nil {
		return errors.New("reflector: FromFuncs needs a list and a watch function")
	}
	return nil
}

// List implements [ListerWatcher].
func (f *funcs[T, L]) List(ctx context.Context, req Request, each func(WatchEvent[T]) error) (metav1.ListMeta, error) {
	if err := f.validate(); err != nil {
		return metav1.ListMeta{}, err
	}
	list, err := f.list(ctx, req.ListOptions)
	if err != nil {
		return metav1.ListMeta{}, wire.CutError(err)
	}
	// L is any runtime.Object, so whether it is a list is known only now.
	acc, err := meta.ListAccessor(list)
	if err != nil {
		return metav1.ListMeta{}, &wire.DecodeError{Err: fmt.Errorf("the list function returned a %T: %w", list, err)}
	}
	if err := wire.CheckPosition(acc.GetResourceVersion(), acc.GetContinue()); err != nil {
		return metav1.ListMeta{}, &wire.DecodeError{Err: err}
	}
	n := 0
	// Copied: a pointer into Items would keep all items alive for as long as one of
	// them is cached.
	err = meta.EachListItemWithAlloc(list, func(o runtime.Object) error {
		ev := WatchEvent[T]{Type: watch.Added}
		if ev.Object, ev.Err = typed[T](o, n); ev.Err == nil && req.Known != nil {
			// It is decoded already, but need not be transformed.
			key := types.NamespacedName{Namespace: ev.Object.GetNamespace(), Name: ev.Object.GetName()}
			if ev.Known = req.Known(key, []byte(ev.Object.GetUID()), []byte(ev.Object.GetResourceVersion())); ev.Known != nil {
				ev = WatchEvent[T]{Type: watch.Added, Known: ev.Known}
			}
		}
		n++
		return each(ev)
	})
	return metav1.ListMeta{
		ResourceVersion: acc.GetResourceVersion(), Continue: acc.GetContinue(), RemainingItemCount: acc.GetRemainingItemCount(),
	}, err
}

// Watch implements [ListerWatcher].
func (f *funcs[T, L]) Watch(ctx context.Context, req Request) (Stream[T], error) {
	if err := f.validate(); err != nil {
		return nil, err
	}
	opts := req.ListOptions
	opts.Watch = true
	w, err := f.watch(ctx, opts)
	if err != nil {
		return nil, wire.CutError(err)
	}
	if w == nil {
		return nil, &wire.DecodeError{Err: errors.New("the watch function returned neither a watch nor an error")}
	}
	return &funcStream[T]{ctx: ctx, w: w, closed: make(chan struct{})}, nil
}

// typed returns o as a T. The error is an *ObjectError: o is not a T, or nil, or
// has no name.
func typed[T Object](o runtime.Object, position int) (T, error) {
	var none T
	var wrong error
	obj, ok := o.(T)
	switch {
	case !ok:
		wrong = fmt.Errorf("it is a %T, not a %T", o, none)
	case any(obj) == any(none):
		wrong = errors.New("it is nil")
	case object.Check(obj) != nil:
		wrong = object.Check(obj)
	case obj.GetName() == "":
		wrong = errors.New("it has no name")
	default:
		wrong = wire.CheckVersion(obj.GetResourceVersion())
	}
	if wrong != nil {
		return none, &ObjectError{Position: position, Class: ClassDecode, Err: wrong}
	}
	return obj, nil
}

// funcStream reads a watch.Interface.
type funcStream[T Object] struct {
	ctx    context.Context //nolint:containedctx // the life of one watch
	w      watch.Interface
	n      int
	close  sync.Once
	closed chan struct{} // by Close

	// What await has received: an event, or that there are no more.
	received, open bool
	event          watch.Event
}

// Next implements [Stream].
func (s *funcStream[T]) Next() (WatchEvent[T], error) {
	ev, err := s.receive()
	if err != nil {
		return WatchEvent[T]{}, err
	}
	position := s.n
	s.n++
	switch ev.Type {
	case watch.Error:
		return WatchEvent[T]{}, errorEvent(ev.Object)
	case watch.Bookmark:
		acc, err := meta.Accessor(ev.Object)
		if err != nil {
			return WatchEvent[T]{}, &wire.DecodeError{Err: fmt.Errorf("a BOOKMARK event without metadata: %w", err)}
		}
		end, err := wire.Bookmark[T](acc)
		return fromWire(end), err
	case watch.Added, watch.Modified, watch.Deleted:
		obj, err := typed[T](ev.Object, position)
		if err != nil {
			return WatchEvent[T]{Type: ev.Type, Err: err}, nil
		}
		return WatchEvent[T]{Type: ev.Type, Object: obj, ResourceVersion: obj.GetResourceVersion()}, nil
	default:
		return WatchEvent[T]{Type: wire.Cut(ev.Type)}, nil
	}
}

// receive waits for the next event.
func (s *funcStream[T]) receive() (watch.Event, error) {
	s.await()
	// An event that has come with the end is not returned.
	if s.ctx.Err() != nil {
		return watch.Event{}, context.Cause(s.ctx)
	}
	select {
	case <-s.closed:
		return watch.Event{}, errStreamClosed
	default:
	}
	if !s.open {
		return watch.Event{}, io.EOF
	}
	ev := s.event
	s.received, s.event = false, watch.Event{}
	return ev, nil
}

// await implements [awaiter]: it waits for an event, or the end.
func (s *funcStream[T]) await() {
	if s.received {
		return
	}
	events := s.w.ResultChan()
	select { // this alone costs a fraction of the select below
	case s.event, s.open = <-events:
		s.received = true
		return
	default:
	}
	select {
	case <-s.ctx.Done():
	case <-s.closed:
	case s.event, s.open = <-events:
		s.received = true
	}
}

// errStreamClosed is returned by a stream after Close.
var errStreamClosed = errors.New("the stream is closed")

// Close implements [Stream].
func (s *funcStream[T]) Close() error {
	s.close.Do(func() {
		close(s.closed)
		s.w.Stop()
	})
	return nil
}

// errorEvent returns the error in the object of an ERROR event.
func errorEvent(o runtime.Object) error {
	err := apierrors.FromObject(o)
	var unexpected *apierrors.UnexpectedObjectError
	if errors.As(err, &unexpected) { // whose text is the object
		return &wire.DecodeError{Err: fmt.Errorf("an ERROR event with a %T, not a Status", o)}
	}
	return wire.CutError(err)
}
