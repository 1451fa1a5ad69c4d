package informer

import (
	"reflect"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/informerkit/informerkit/internal/object"
	"github.com/informerkit/informerkit/workqueue/history"
)

// This file is a layer: with [Options].History it notes what the applier adds to the log
// (applier.observe), and wraps each handler once, when it is added. Nothing else knows
// of it.

// recording notes what happens to objects in a history: for an informer what it received,
// for a handler what was delivered to it.
type recording[T Object] struct {
	recorder *history.Recorder
	part     *history.Part
}

// newRecording returns the recording of an informer, or of one of its handlers if that has
// a name.
func newRecording[T Object](recorder *history.Recorder, informer, handler string) *recording[T] {
	part := &history.Part{Name: handler, Informer: informer, Kind: informer}
	switch reflect.TypeFor[T]() {
	case reflect.TypeFor[*unstructured.Unstructured](), reflect.TypeFor[*metav1.PartialObjectMetadata]():
		// The type says nothing about the objects.
	default:
		part.Kind = typeName[T]()
	}
	return &recording[T]{recorder, part}
}

// note notes what happened to the object of an event, at a moment. By is the name of the
// function that did it, if there is one.
func (o *recording[T]) note(at time.Time, what history.What, e *Event[T], by string) {
	record := history.Record{What: what, Key: history.Key(e.Key), Part: o.part, Object: history.Key{Name: by}}
	change := changeOf(e)
	record.SetChange(&change)
	o.recorder.Note(at, &record)
}

// changeOf describes an event for the history.
func changeOf[T Object](e *Event[T]) history.Change {
	return history.Change{Type: uint8(e.Type), Origin: uint8(e.Origin), Old: versionNumber(e.Old), New: versionNumber(e.New)}
}

// versionNumber is the version of an object, which may be nil, or 0 if it is no number.
func versionNumber[T Object](obj T) uint64 {
	if object.IsNil(obj) {
		return 0
	}
	n, err := strconv.ParseUint(obj.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// typeName returns "Pod" for *corev1.Pod.
func typeName[T any]() string {
	t := reflect.TypeFor[T]()
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name()
}

// recordedHandler is a handler whose calls are noted.
type recordedHandler[T Object] struct {
	*recording[T]
	next Handler[T]
	// cause is the event that next is being called with: the reason for what it adds to a
	// queue. Calls are sequential, so there is one.
	cause history.Cause
}

// wrap returns the handler with its calls noted. Handlers of this package within it note
// what they refuse, and give queues the reason for what they add. A handler of the program
// is not looked into.
func (o *recording[T]) wrap(h Handler[T]) Handler[T] {
	w := &recordedHandler[T]{recording: o, cause: history.Cause{Handler: o.part}}
	w.next = w.within(h)
	return w
}

// OnEvent notes the event, calls the handler, and notes it if that panics.
func (w *recordedHandler[T]) OnEvent(e Event[T]) {
	w.note(time.Now(), history.Delivered, &e, "")
	w.cause.Object, w.cause.Change = history.Key(e.Key), changeOf(&e)
	returned := false
	defer func() {
		if !returned {
			w.note(time.Now(), history.Panicked, &e, "")
		}
	}()
	w.next.OnEvent(e)
	returned = true
}

// observable is a handler that is or has something to observe.
type observable[T Object] interface {
	observed(w *recordedHandler[T]) Handler[T]
}

// within returns a copy of the handler that is observed, if it can be.
func (w *recordedHandler[T]) within(h Handler[T]) Handler[T] {
	if h, ok := h.(observable[T]); ok {
		return h.observed(w)
	}
	return h
}

// refused returns a handler that notes the events that a function did not let pass.
func (w *recordedHandler[T]) refused(function any) Handler[T] {
	name := history.FuncName(function)
	return HandlerFunc[T](func(e Event[T]) { w.note(time.Now(), history.Refused, &e, name) })
}

func (f *filter[T]) observed(w *recordedHandler[T]) Handler[T] {
	return &filter[T]{f.match, w.within(f.next), w.refused(f.match)}
}

func (h *when[T]) observed(w *recordedHandler[T]) Handler[T] {
	if h.otherwise == nil {
		return &when[T]{h.p, w.within(h.next), w.refused(h.p)}
	}
	return &when[T]{h.p, w.within(h.next), w.within(h.otherwise)}
}

func (s several[T]) observed(w *recordedHandler[T]) Handler[T] {
	all := make(several[T], len(s))
	for i, h := range s {
		all[i] = w.within(h)
	}
	return all
}

func (h *enqueuer[T, K]) observed(w *recordedHandler[T]) Handler[T] {
	if q, ok := h.q.(becauseAdder[K]); ok {
		return &enqueuer[T, K]{reasoned[K]{q, &w.cause}, h.enqueue}
	}
	return h
}

// becauseAdder is implemented by the queues of package workqueue.
type becauseAdder[K any] interface {
	AddBecause(key K, why any)
}

// reasoned is a queue that gets the reason with each key. Its history copies it before Add
// returns.
type reasoned[K any] struct {
	q     becauseAdder[K]
	cause *history.Cause
}

func (r reasoned[K]) Add(key K) { r.q.AddBecause(key, r.cause) }
