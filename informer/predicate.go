package informer

import "maps"

// Predicate chooses events. Unlike the function of a [FilterHandler], which
// chooses objects, it makes a handler miss steps: Old is then not always the New
// of the event that the handler was told before.
type Predicate[T Object] func(Event[T]) bool

// When returns a handler that passes the events that p chooses to next.
func When[T Object](p Predicate[T], next Handler[T]) Handler[T] {
	return HandlerFunc[T](func(e Event[T]) {
		if p(e) {
			next.OnEvent(e)
		}
	})
}

// WhenElse returns a handler that passes the events that p chooses to next, and all
// others to otherwise.
func WhenElse[T Object](p Predicate[T], next, otherwise Handler[T]) Handler[T] {
	return HandlerFunc[T](func(e Event[T]) {
		if p(e) {
			next.OnEvent(e)
		} else {
			otherwise.OnEvent(e)
		}
	})
}

// Background chooses events that are no news: an object that existed when the
// handler joined or the informer listed for the first time (an [Added] of the
// origin [InitialList]), and a [Resync]. There may be very many of them at once,
// after a start for example, and nobody waits for the outcome. Enqueue them in a
// class of their own, and what changes meanwhile does not wait behind them:
//
//	queue := workqueue.NewRateLimiting(nil, workqueue.Options[types.NamespacedName]{
//		Budgets: []time.Duration{0, time.Minute}, // class 1 waits for class 0, but not for ever
//	})
//	informer.WhenElse(informer.Background[*corev1.Pod](),
//		informer.EnqueueKey[*corev1.Pod](queue.Class(1)),
//		informer.EnqueueKey[*corev1.Pod](queue))
//
// Events of the origins [Relist] and [CatchUp] are news, late as they are: each
// stands for a change, as a list that finds an object unchanged, and a handler
// that is told of it already, make no event. For the same reason an [Updated] or
// [Deleted] of the first list is news: the object was known from [Options].Seed,
// and is not what it was.
func Background[T Object]() Predicate[T] {
	return func(e Event[T]) bool {
		return e.Origin == Resync || e.Origin == InitialList && e.Type == Added
	}
}

// GenerationChanged chooses updates that change metadata.generation, which the
// server increments when the specification changes but not when the status does;
// and everything that is not an update. Kinds without a generation (such as
// ConfigMap) have no updates then.
func GenerationChanged[T Object]() Predicate[T] {
	return updates(func(o, n T) bool { return o.GetGeneration() != n.GetGeneration() })
}

// LabelsChanged chooses updates that change the labels, and everything that is
// not an update.
func LabelsChanged[T Object]() Predicate[T] {
	return updates(func(o, n T) bool { return !maps.Equal(o.GetLabels(), n.GetLabels()) })
}

// AnnotationsChanged chooses updates that change the annotations, and everything
// that is not an update.
func AnnotationsChanged[T Object]() Predicate[T] {
	return updates(func(o, n T) bool { return !maps.Equal(o.GetAnnotations(), n.GetAnnotations()) })
}

// ResourceVersionChanged chooses all events but those of a resync, in which
// nothing has changed.
func ResourceVersionChanged[T Object]() Predicate[T] {
	return updates(func(o, n T) bool { return o.GetResourceVersion() != n.GetResourceVersion() })
}

func updates[T Object](changed func(o, n T) bool) Predicate[T] {
	return func(e Event[T]) bool { return e.Type != Updated || changed(e.Old, e.New) }
}

// And chooses the events that all of the predicates choose; without any, all.
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

// Or chooses the events that one of the predicates chooses; without any, none.
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

// Not chooses the events that p does not.
func Not[T Object](p Predicate[T]) Predicate[T] {
	return func(e Event[T]) bool { return !p(e) }
}
