package informer

// Handler is told what happens to the objects of an informer. OnEvent is called
// for one event at a time, in order; it should return soon, typically after
// putting a key into a queue. A handler that takes long delays nobody but
// itself; see [HandlerOptions].
type Handler[T Object] interface {
	OnEvent(Event[T])
}

// HandlerFunc is a function as a [Handler].
type HandlerFunc[T Object] func(Event[T])

// OnEvent calls f.
func (f HandlerFunc[T]) OnEvent(e Event[T]) { f(e) }

// HandlerFuncs is a [Handler] in the classic style: one function per type of
// event. Those that are nil are not called.
type HandlerFuncs[T Object] struct {
	// AddFunc gets an object that is new to the handler.
	AddFunc func(obj T)
	// UpdateFunc gets the state that the handler knew and the one now. In a
	// resync they are the same object.
	UpdateFunc func(oldObj, newObj T)
	// DeleteFunc gets the final state of the object, or the last one known if
	// the final one was not seen. There are no tombstones to unwrap.
	DeleteFunc func(obj T)
}

// OnEvent calls the function for the type of the event.
func (h HandlerFuncs[T]) OnEvent(e Event[T]) {
	switch e.Type {
	case Added:
		if h.AddFunc != nil {
			h.AddFunc(e.New)
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

// FilterHandler returns a handler that shows next a part of the world: only the
// objects that match. An update by which an object begins to match is an Added
// for next, one by which it ceases to is a Deleted, whose Old is the last state
// that matched.
//
// The answer of match must depend on the object alone. If it changed over time,
// next would see objects come that it knows, and go that it does not.
func FilterHandler[T Object](match func(T) bool, next Handler[T]) Handler[T] {
	return HandlerFunc[T](func(e Event[T]) {
		switch e.Type {
		case Added:
			if !match(e.New) {
				return
			}
		case Deleted:
			if !match(e.Old) {
				return
			}
		case Updated:
			var none T
			switch before, now := match(e.Old), match(e.New); {
			case !before && !now:
				return
			case !before:
				e.Type, e.Old = Added, none
			case !now:
				e.Type, e.New = Deleted, none
			}
		}
		next.OnEvent(e)
	})
}

// Handlers returns a handler that tells several, one after the other. They count
// as one: a slow one delays those after it.
func Handlers[T Object](all ...Handler[T]) Handler[T] {
	return HandlerFunc[T](func(e Event[T]) {
		for _, h := range all {
			h.OnEvent(e)
		}
	})
}
