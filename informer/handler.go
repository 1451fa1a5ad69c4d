package informer

import (
	"errors"
	"slices"

	"github.com/informerkit/informerkit/internal/object"
)

// HandlerFuncs is a [Handler] like client-go's ResourceEventHandlerFuncs: one function per type of
// event. Those that are nil are not called.
type HandlerFuncs[T Object] struct {
	// AddFunc gets an object that is new to the handler. IsInInitialList is whether
	// it existed when the handler joined, or when the informer listed for the first
	// time.
	AddFunc func(obj T, isInInitialList bool)
	// UpdateFunc gets the state that the handler has seen and the one now. In a
	// resync they are the same object.
	UpdateFunc func(oldObj, newObj T)
	// DeleteFunc gets the final state of the object, or the last one known if
	// the final one was not seen. There is no tombstone, as client-go's
	// DeletedFinalStateUnknown, to unwrap.
	DeleteFunc func(obj T)
}

// OnEvent calls the function for the type of the event.
func (h HandlerFuncs[T]) OnEvent(e Event[T]) {
	switch e.Type {
	case Added:
		if h.AddFunc != nil {
			h.AddFunc(e.New, e.Origin == InitialList)
		}
	case Updated:
		if h.UpdateFunc != nil {
			h.UpdateFunc(e.Old, e.New)
		}
	case Deleted:
		if h.DeleteFunc != nil {
			h.DeleteFunc(e.Object())
		}
	}
}

// FilterHandler returns a handler that passes on only matching objects. An update
// by which an object begins to match is an Added for next, one by which it ceases
// to is a Deleted, whose Old is the last state that matched.
//
// The answer of match must depend on the object alone. If it changed over time,
// next would get additions of objects that it has, and deletions of those that it
// has not.
func FilterHandler[T Object](match func(T) bool, next Handler[T]) Handler[T] {
	if match == nil {
		return unusable[T]{errors.New("informer: FilterHandler: match is nil; pass a function that selects objects")}
	}
	if err := checkHandlers("FilterHandler", next); err != nil {
		return unusable[T]{err}
	}
	return &filter[T]{match, next, nil}
}

// filter is the handler of [FilterHandler].
type filter[T Object] struct {
	match   func(T) bool
	next    Handler[T]
	refused Handler[T] // of the other events; nil: nothing
}

// OnEvent passes the event on, or not.
func (f *filter[T]) OnEvent(e Event[T]) {
	if f.selects(&e) {
		f.next.OnEvent(e)
	} else if f.refused != nil {
		f.refused.OnEvent(e)
	}
}

// selects reports whether next gets the event, and makes it what it is for next: a
// consistent history of the objects that match, as if there were no others.
func (f *filter[T]) selects(e *Event[T]) bool {
	switch e.Type {
	case Added:
		return f.match(e.New)
	case Deleted:
		return f.match(e.Old)
	case Updated:
		var none T
		switch before, now := f.match(e.Old), f.match(e.New); {
		case !before && !now:
			return false
		case !before:
			e.Type, e.Old = Added, none
		case !now:
			e.Type, e.New = Deleted, none
		}
	}
	return true
}

// Handlers returns a handler that calls several, one after the other. They count
// as one: a slow one delays those after it.
func Handlers[T Object](all ...Handler[T]) Handler[T] {
	if err := checkHandlers("Handlers", all...); err != nil {
		return unusable[T]{err}
	}
	// The caller may change its slice, which a runner would read at the same time.
	return several[T](slices.Clone(all))
}

// several is the handler of [Handlers].
type several[T Object] []Handler[T]

// OnEvent calls all handlers.
func (s several[T]) OnEvent(e Event[T]) {
	for _, h := range s {
		h.OnEvent(e)
	}
}

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
	return &when[T]{p, next, nil}
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
	return &when[T]{p, next, otherwise}
}

// when is the handler of [When], and of [WhenElse], which has otherwise.
type when[T Object] struct {
	p               Predicate[T]
	next, otherwise Handler[T]
}

// OnEvent passes the event on, or not.
func (h *when[T]) OnEvent(e Event[T]) {
	if h.p(e) {
		h.next.OnEvent(e)
	} else if h.otherwise != nil {
		h.otherwise.OnEvent(e)
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

// ResourceVersionChanged selects all events but resyncs, in which nothing has changed. Objects
// without a resourceVersion, which some APIs serve, count as changed in each other event.
//
//go:noinline
func ResourceVersionChanged[T Object]() Predicate[T] {
	return func(e Event[T]) bool {
		return e.Type != Updated || any(e.Old) != any(e.New) && !object.SameVersion(e.Old, e.New)
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
