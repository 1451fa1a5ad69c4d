package workqueue

// Class is a view of a queue for those who add to one of its classes. Make one
// with [Queue.Class]; the zero value must not be used, its Add panics. All methods
// may be called concurrently.
type Class[T comparable] struct {
	engine *engine[T]
	number int
}

// Class returns a view of the queue whose Add adds to the given class; see
// [Options].Budgets. A class that does not exist counts as the nearest that does.
//
// It is for code that knows only how to add: give it the view, and what it adds
// is of that class. With an informer, this makes the objects that were there
// already less urgent than what changes:
//
//	informer.WhenElse(informer.Background[*corev1.Pod](),
//		informer.EnqueueKey[*corev1.Pod](queue.Class(1)),
//		informer.EnqueueKey[*corev1.Pod](queue))
func (q *Queue[T]) Class(class int) Class[T] { return Class[T]{q.engine, class} }

// Add is [Queue.AddClass] with the class of the view.
func (c Class[T]) Add(item T) { c.engine.addClass(item, c.number) }

func (q *engine[T]) addClass(item T, class int) {
	var r request[T]
	q.prepare(&r, item)
	r.class = class
	q.add(&r)
}
