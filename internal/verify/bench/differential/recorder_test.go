package differential

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/informerkit/informerkit/informer"
)

// defect corrupts events before our handlers receive them, to test the tests. It may
// change an event, and returns false to drop it.
type defect func(*delivery) bool

// ourRecorder is a handler of this library that records the events it receives.
type ourRecorder struct {
	*chains
	planted defect
}

func (r *ourRecorder) OnEvent(e informer.Event[*corev1.Pod]) {
	r.enter()
	defer r.exit()
	if e.Origin == informer.Resync {
		r.again(e.Key, stateOf(e.New))
		return
	}
	t := delivery{initial: e.Type == informer.Added && e.Origin == informer.InitialList}
	if e.Old != nil {
		t.old = stateOf(e.Old)
	}
	if e.New != nil {
		t.now = stateOf(e.New)
	}
	switch e.Type {
	case informer.Added:
		t.typ = added
	case informer.Updated:
		t.typ = updated
	case informer.Deleted:
		t.typ, t.unseen = deleted, e.FinalStateUnknown
	}
	if r.planted != nil && !r.planted(&t) {
		return
	}
	r.deliver(e.Key, t)
}

// theirRecorder is a handler of client-go. It records the events that this library
// must deliver, given those of client-go. It implements the differences of doc.go.
type theirRecorder struct {
	*chains
	filtered bool
	met      *tally
}

var _ cache.ResourceEventHandler = &theirRecorder{}

func keyOf(p *corev1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
}

func (r *theirRecorder) OnAdd(obj any, initial bool) {
	r.enter()
	defer r.exit()
	p := obj.(*corev1.Pod)
	r.deliver(keyOf(p), delivery{typ: added, now: stateOf(p), initial: initial})
}

func (r *theirRecorder) OnUpdate(oldObj, newObj any) {
	r.enter()
	defer r.exit()
	old, now := oldObj.(*corev1.Pod), newObj.(*corev1.Pod)
	key := keyOf(now)
	switch {
	case stateOf(old) == stateOf(now):
		r.again(key, stateOf(now))
		r.met.add(resyncTurns, 1)
	case old.UID != now.UID:
		r.met.add(anotherObject, 1)
		r.deliver(key, delivery{typ: deleted, old: stateOf(old), unseen: true})
		r.deliver(key, delivery{typ: added, now: stateOf(now)})
	default:
		r.deliver(key, delivery{typ: updated, old: stateOf(old), now: stateOf(now)})
	}
}

func (r *theirRecorder) OnDelete(obj any) {
	r.enter()
	defer r.exit()
	tombstone, unseen := obj.(cache.DeletedFinalStateUnknown)
	if unseen {
		obj = tombstone.Obj
	}
	p := obj.(*corev1.Pod)
	key := keyOf(p)
	known, ok := r.known[key]
	if !ok {
		r.met.add(unknownDeletion, 1)
		return
	}
	t := delivery{typ: deleted, old: known, unseen: unseen, now: stateOf(p)}
	if unseen {
		t.now = state{}
		if stateOf(p) != known {
			r.fault("%s: the tombstone has %v, but there is %v", key, stateOf(p), known)
		}
	}
	if r.filtered && t.now == known {
		t.now = state{} // not deleted: it does not match any more
	}
	r.deliver(key, t)
}

// matches is the filter of the filtering handlers.
func matches(p *corev1.Pod) bool { return p.Labels["n"] < "3" }

func matchesAny(obj any) bool {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	return matches(obj.(*corev1.Pod))
}
