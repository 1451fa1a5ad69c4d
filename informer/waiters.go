package informer

import (
	"container/heap"
	"iter"

	"k8s.io/apimachinery/pkg/types"
)

// waiter is a condition, and a function to call when it is met. Both functions are called by the
// goroutine that publishes, condition with the mutex of progress held, ended
// without that mutex but perhaps with the applier's, so it must not block. It is called
// once: with nil when the condition is met, or else with the
// reason why it cannot be met any more.
type waiter struct {
	condition func() (met bool, err error)
	ended     func(err error)
	// key, if it has a name, is the object that the condition depends on. Then the condition is
	// checked only after an event of that object, after a list, and when the source has reached version.
	key     types.NamespacedName
	version string // a number, or empty
	// see, if set, gets the version of each state of the object that an event leads to, before
	// condition. Such a condition is checked after each batch.
	see func(version string)

	heap *versions // that it is in, or nil
	at   int       // its index there
}

// waiters holds the waiters, so that a batch finds those that it may concern: a controller waits
// for each of its writes, and a check of all of them after each event would cost writes × events.
type waiters[T Object] struct {
	all      map[*waiter]struct{}
	always   map[*waiter]struct{} // to check after each batch
	keys     map[types.NamespacedName]map[*waiter]struct{}
	versions map[string]*versions // by the namespace of the source
}

// add adds a waiter for an object that s reads; s may be nil.
func (ws *waiters[T]) add(w *waiter, s *source[T]) {
	if ws.all == nil {
		*ws = waiters[T]{map[*waiter]struct{}{}, map[*waiter]struct{}{}, map[types.NamespacedName]map[*waiter]struct{}{}, map[string]*versions{}}
	}
	ws.all[w] = struct{}{}
	if w.key.Name == "" || w.see != nil {
		ws.always[w] = struct{}{}
	}
	if w.key.Name == "" {
		return
	}
	if ws.keys[w.key] == nil {
		ws.keys[w.key] = map[*waiter]struct{}{}
	}
	ws.keys[w.key][w] = struct{}{}
	if s != nil && w.version != "" {
		if ws.versions[s.namespace] == nil {
			ws.versions[s.namespace] = &versions{}
		}
		w.heap = ws.versions[s.namespace]
		heap.Push(w.heap, w)
	}
}

// remove removes a waiter, if it is there.
func (ws *waiters[T]) remove(w *waiter) {
	if _, ok := ws.all[w]; !ok {
		return
	}
	delete(ws.all, w)
	delete(ws.always, w)
	delete(ws.keys[w.key], w)
	if len(ws.keys[w.key]) == 0 {
		delete(ws.keys, w.key)
	}
	if w.heap != nil {
		heap.Remove(w.heap, w.at)
	}
}

// resort assigns the waiters to the sources that sourceOf returns for their namespaces.
func (ws *waiters[T]) resort(sourceOf func(namespace string) *source[T]) {
	before := ws.all
	*ws = waiters[T]{}
	for w := range before {
		w.heap = nil
		ws.add(w, sourceOf(w.key.Namespace))
	}
}

// affected shows the states to the waiters that look at them, and adds the waiters that events may
// concern to check, unless that is nil.
func (ws *waiters[T]) affected(events iter.Seq2[types.NamespacedName, T], check map[*waiter]struct{}) {
	for key, obj := range events {
		for w := range ws.keys[key] {
			if w.see != nil && any(obj) != any(*new(T)) {
				w.see(obj.GetResourceVersion())
			}
			if check != nil {
				check[w] = struct{}{}
			}
		}
	}
	if check != nil {
		for w := range ws.always {
			check[w] = struct{}{}
		}
	}
}

// reached adds the waiters to check whose version the source of a namespace has reached. They leave
// the heap: from then on only an event of their object, or a list, can meet their condition.
func (ws *waiters[T]) reached(namespace, version string, check map[*waiter]struct{}) {
	for h := ws.versions[namespace]; h != nil && len(*h) > 0 && reached(version, (*h)[0].version); {
		check[heap.Pop(h).(*waiter)] = struct{}{}
	}
}

// versions is a heap of waiters, the least version first.
type versions []*waiter

func (v versions) Len() int { return len(v) }

func (v versions) Less(i, j int) bool {
	order, _ := compareVersions(v[i].version, v[j].version)
	return order < 0
}

func (v versions) Swap(i, j int) {
	v[i], v[j] = v[j], v[i]
	v[i].at, v[j].at = i, j
}

func (v *versions) Push(x any) {
	w := x.(*waiter)
	w.at = len(*v)
	*v = append(*v, w)
}

func (v *versions) Pop() any {
	last := len(*v) - 1
	w := (*v)[last]
	(*v)[last] = nil
	*v = (*v)[:last]
	w.heap = nil
	return w
}
