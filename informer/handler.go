package informer

import (
	"errors"
	"slices"
	"sync"

	"github.com/informerkit/informerkit/workqueue/history"
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
	return &filter[T]{match, next, sync.OnceValue(func() string { return history.FuncName(match) })}
}

// filter is the handler of [FilterHandler].
type filter[T Object] struct {
	match func(T) bool
	next  Handler[T]
	name  func() string // of match, for the history
}

// OnEvent passes the event on, or not.
func (f *filter[T]) OnEvent(e Event[T]) {
	if f.selects(&e) {
		f.next.OnEvent(e)
	}
}

// onEventBy is OnEvent with a history.
func (f *filter[T]) onEventBy(e Event[T], by *recording) {
	if !f.selects(&e) {
		refused(by, &e, f.name())
		return
	}
	passOn(f.next, e, by)
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

// onEventBy is OnEvent with a history.
func (s several[T]) onEventBy(e Event[T], by *recording) {
	for _, h := range s {
		passOn(h, e, by)
	}
}
