package informer

import (
	"errors"
	"maps"
	"sync"

	"github.com/informerkit/informerkit/workqueue/history"
)

// Predicate selects events. The handler behind it misses the others, so Old is not
// always the New of the event that it got before. A [FilterHandler] selects objects,
// and turns what enters or leaves the selection into Added and Deleted.
type Predicate[T Object] func(Event[T]) bool

// errNoPredicate is for a nil predicate.
var errNoPredicate = errors.New("informer: the predicate is nil; pass one, such as GenerationChanged[*corev1.Pod]()")

// When returns a handler that passes the events that p selects to next.
func When[T Object](p Predicate[T], next Handler[T]) Handler[T] {
	if p == nil {
		return unusable[T]{errNoPredicate}
	}
	if err := checkHandlers("When", next); err != nil {
		return unusable[T]{err}
	}
	return newWhen(p, next, nil)
}

// WhenElse returns a handler that passes the events that p selects to next, and all
// others to otherwise.
func WhenElse[T Object](p Predicate[T], next, otherwise Handler[T]) Handler[T] {
	if p == nil {
		return unusable[T]{errNoPredicate}
	}
	if err := checkHandlers("WhenElse", next, otherwise); err != nil {
		return unusable[T]{err}
	}
	return newWhen(p, next, otherwise)
}

// when is the handler of [When], and of [WhenElse], which has otherwise.
type when[T Object] struct {
	p               Predicate[T]
	next, otherwise Handler[T]
	name            func() string // of p, for the history
}

func newWhen[T Object](p Predicate[T], next, otherwise Handler[T]) Handler[T] {
	return &when[T]{p, next, otherwise, sync.OnceValue(func() string { return history.FuncName(p) })}
}

// OnEvent passes the event on, or not.
func (w *when[T]) OnEvent(e Event[T]) {
	if w.p(e) {
		w.next.OnEvent(e)
	} else if w.otherwise != nil {
		w.otherwise.OnEvent(e)
	}
}

// onEventBy is OnEvent with a history.
func (w *when[T]) onEventBy(e Event[T], by *recording) {
	switch {
	case w.p(e):
		passOn(w.next, e, by)
	case w.otherwise != nil:
		passOn(w.otherwise, e, by)
	default:
		refused(by, &e, w.name())
	}
}

// The predicates of this package are not inlined, and each returns a function literal of
// its own: the history names a predicate by its Go function, and an inlined one would
// have the name of its caller. Those about updates pass additions and deletions: a
// handler that missed one would be wrong for good.

// InitialOrResync selects events that do not report a change: an object that
// existed when the handler joined or the informer listed for the first time (an
// [Added] of the origin [InitialList]), and a [Resync]. There may be very many of
// them at once, after a start for example, and none is urgent. Enqueue them in a
// priority class of their own, and changes do not wait behind them:
//
//	queue := workqueue.NewRateLimiting(nil, workqueue.Options[types.NamespacedName]{
//		MaxWait: []time.Duration{0, time.Minute}, // class 1 waits for class 0, but not for ever
//	})
//	informer.WhenElse(informer.InitialOrResync[*corev1.Pod](),
//		informer.EnqueueKey[*corev1.Pod](queue.PriorityClass(1)),
//		informer.EnqueueKey[*corev1.Pod](queue))
//
// Events of the origins [Relist] and [CatchUp] do report a change, late as they
// are: a list that finds an object unchanged delivers nothing. So does an
// [Updated] or [Deleted] of the first list: the object was known from
// [Options].InitialObjects, and is different now.
//
//go:noinline
func InitialOrResync[T Object]() Predicate[T] {
	return func(e Event[T]) bool {
		return e.Origin == Resync || e.Origin == InitialList && e.Type == Added
	}
}

// GenerationChanged selects updates that change metadata.generation, which the
// server increments when the specification changes but not when the status does;
// and everything that is not an update. Kinds without a generation (such as
// ConfigMap) have no updates then.
//
//go:noinline
func GenerationChanged[T Object]() Predicate[T] {
	return func(e Event[T]) bool { return e.Type != Updated || e.Old.GetGeneration() != e.New.GetGeneration() }
}

// LabelsChanged selects updates that change the labels, and everything that is
// not an update.
//
//go:noinline
func LabelsChanged[T Object]() Predicate[T] {
	return func(e Event[T]) bool { return e.Type != Updated || !maps.Equal(e.Old.GetLabels(), e.New.GetLabels()) }
}

// AnnotationsChanged selects updates that change the annotations, and everything
// that is not an update.
//
//go:noinline
func AnnotationsChanged[T Object]() Predicate[T] {
	return func(e Event[T]) bool {
		return e.Type != Updated || !maps.Equal(e.Old.GetAnnotations(), e.New.GetAnnotations())
	}
}

// ResourceVersionChanged selects all events but those of a resync, in which
// nothing has changed.
//
//go:noinline
func ResourceVersionChanged[T Object]() Predicate[T] {
	return func(e Event[T]) bool {
		return e.Type != Updated || e.Old.GetResourceVersion() != e.New.GetResourceVersion()
	}
}

// And selects the events that all of the predicates select; without any, all.
//
//go:noinline
func And[T Object](all ...Predicate[T]) Predicate[T] {
	return func(e Event[T]) bool {
		for _, p := range all {
			if !p(e) {
				return false
			}
		}
		return true
	}
}

// Or selects the events that at least one of the predicates selects; without any, none.
//
//go:noinline
func Or[T Object](all ...Predicate[T]) Predicate[T] {
	return func(e Event[T]) bool {
		for _, p := range all {
			if p(e) {
				return true
			}
		}
		return false
	}
}

// Not selects the events that p does not.
//
//go:noinline
func Not[T Object](p Predicate[T]) Predicate[T] {
	return func(e Event[T]) bool { return !p(e) }
}
