package informer

import (
	"errors"
	"maps"
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
	return HandlerFunc[T](func(e Event[T]) {
		if p(e) {
			next.OnEvent(e)
		}
	})
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
	return HandlerFunc[T](func(e Event[T]) {
		if p(e) {
			next.OnEvent(e)
		} else {
			otherwise.OnEvent(e)
		}
	})
}

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
func InitialOrResync[T Object]() Predicate[T] {
	return func(e Event[T]) bool {
		return e.Origin == Resync || e.Origin == InitialList && e.Type == Added
	}
}

// GenerationChanged selects updates that change metadata.generation, which the
// server increments when the specification changes but not when the status does;
// and everything that is not an update. Kinds without a generation (such as
// ConfigMap) have no updates then.
func GenerationChanged[T Object]() Predicate[T] {
	return updates(func(o, n T) bool { return o.GetGeneration() != n.GetGeneration() })
}

// LabelsChanged selects updates that change the labels, and everything that is
// not an update.
func LabelsChanged[T Object]() Predicate[T] {
	return updates(func(o, n T) bool { return !maps.Equal(o.GetLabels(), n.GetLabels()) })
}

// AnnotationsChanged selects updates that change the annotations, and everything
// that is not an update.
func AnnotationsChanged[T Object]() Predicate[T] {
	return updates(func(o, n T) bool { return !maps.Equal(o.GetAnnotations(), n.GetAnnotations()) })
}

// ResourceVersionChanged selects all events but those of a resync, in which
// nothing has changed.
func ResourceVersionChanged[T Object]() Predicate[T] {
	return updates(func(o, n T) bool { return o.GetResourceVersion() != n.GetResourceVersion() })
}

// updates selects updates for which changed returns true, and everything that is
// not an update.
//
// Additions and deletions always pass: a handler that missed one would be wrong for good.
func updates[T Object](changed func(o, n T) bool) Predicate[T] {
	return func(e Event[T]) bool { return e.Type != Updated || changed(e.Old, e.New) }
}

// And selects the events that all of the predicates select; without any, all.
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
func Not[T Object](p Predicate[T]) Predicate[T] {
	return func(e Event[T]) bool { return !p(e) }
}
