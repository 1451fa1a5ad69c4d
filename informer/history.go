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

// recording notes what happens to objects in [Options].History: for an informer what it
// received, for a handler what was delivered to it. It is nil without a recorder, and
// handlers are called as they are then.
//
// With a recorder, a handler is called through a recordedHandler. The handlers of this
// package pass the recording on to those behind them, down to the one that adds to a
// queue, so that the history has who added a key and why. A handler of the program in
// between does not know of it, and what is behind it adds without a reason.
type recording struct {
	recorder *history.Recorder
	part     *history.Part
}

// newRecording returns nil if there is no recorder. A handler has a name; the informer
// itself has none.
func newRecording[T Object](recorder *history.Recorder, informer, handler string) *recording {
	if recorder == nil {
		return nil
	}
	part := &history.Part{Name: handler, Informer: informer, Kind: informer}
	switch reflect.TypeFor[T]() {
	case reflect.TypeFor[*unstructured.Unstructured](), reflect.TypeFor[*metav1.PartialObjectMetadata]():
		// The type says nothing about the objects.
	default:
		part.Kind = typeName[T]()
	}
	return &recording{recorder, part}
}

// typeName returns "Pod" for *corev1.Pod.
func typeName[T any]() string {
	t := reflect.TypeFor[T]()
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name()
}

// noteEvent notes what happened to the object of an event, at the given moment of the
// recorder. By is the name of the function that did it, if there is one.
func noteEvent[T Object](r *recording, at int64, what history.What, e *Event[T], by string) {
	record := history.Record{What: what, Key: history.Key(e.Key), Part: r.part, Object: history.Key{Name: by}}
	change := changeOf(e)
	record.SetChange(&change)
	r.recorder.Note(at, &record)
}

// changeOf describes an event for the history.
func changeOf[T Object](e *Event[T]) history.Change {
	return history.Change{Type: uint8(e.Type), Origin: uint8(e.Origin), Old: versionNumber(e.Old), New: versionNumber(e.New)}
}

// causeOf is an event as the reason for adding a key.
func causeOf[T Object](by *recording, e *Event[T]) history.Cause {
	return history.Cause{Handler: by.part, Object: history.Key(e.Key), Change: changeOf(e)}
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

// recordedHandler notes each call of a handler.
type recordedHandler[T Object] struct {
	next Handler[T]
	by   *recording
}

// OnEvent notes the event and calls the handler.
func (h *recordedHandler[T]) OnEvent(e Event[T]) {
	noteEvent(h.by, h.by.recorder.At(time.Now()), history.Delivered, &e, "")
	passOn(h.next, e, h.by)
}

// recordingHandler is implemented by the handlers of this package that note what they do
// with an event, or call handlers that do. OnEvent is the same without a recording.
type recordingHandler[T Object] interface {
	onEventBy(e Event[T], by *recording)
}

// passOn calls the next handler, with the recording if it takes one.
func passOn[T Object](next Handler[T], e Event[T], by *recording) {
	if h, ok := next.(recordingHandler[T]); ok {
		h.onEventBy(e, by)
		return
	}
	next.OnEvent(e)
}

// refused notes that the function did not let an event pass.
func refused[T Object](by *recording, e *Event[T], function string) {
	noteEvent(by, by.recorder.Now(), history.Refused, e, function)
}
