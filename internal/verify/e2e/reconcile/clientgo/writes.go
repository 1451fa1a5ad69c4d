package clientgo

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// cacheLag is how long a write may take to reach the cache before it is no longer
// waited for.
const cacheLag = 30 * time.Second

// ownWrites are the objects that reconciles have written and the caches do not
// show yet. Kubernetes' own controllers keep such books under the name of
// expectations; these are by object and resourceVersion instead of by number.
//
// The zero value is empty and ready to use; the methods may be called concurrently.
type ownWrites struct {
	mu      sync.Mutex
	objects map[types.UID]write
	sets    map[types.NamespacedName]*setWrites
}

// write is the latest one to an object.
type write struct {
	set     types.NamespacedName // on whose behalf
	version string
}

// setWrites are those on behalf of one set.
type setWrites struct {
	uids map[types.UID]struct{}
	last time.Time
}

// expect notes the answer to a write of a reconcile of set. cached returns what the
// cache has of the object: it may have been faster than the answer.
func expect[T metav1.Object](w *ownWrites, set types.NamespacedName, written T, cached func() (T, error)) {
	w.note(set, written)
	if obj, err := cached(); err == nil {
		w.seen(obj)
	}
}

func (w *ownWrites) note(set types.NamespacedName, written metav1.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.objects == nil {
		w.objects = map[types.UID]write{}
		w.sets = map[types.NamespacedName]*setWrites{}
	}
	w.drop(written.GetUID()) // maybe another set's: a pod that was released and adopted
	w.objects[written.GetUID()] = write{set, written.GetResourceVersion()}
	s := w.sets[set]
	if s == nil {
		s = &setWrites{uids: map[types.UID]struct{}{}}
		w.sets[set] = s
	}
	s.uids[written.GetUID()] = struct{}{}
	s.last = time.Now()
}

// seen records that a cache shows obj.
func (w *ownWrites) seen(obj metav1.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	expected, ok := w.objects[obj.GetUID()]
	if !ok {
		return
	}
	if order, err := resourceversion.CompareResourceVersion(obj.GetResourceVersion(), expected.version); err == nil && order < 0 {
		return // an older state
	}
	w.drop(obj.GetUID())
}

// gone records that a cache shows that an object is not there any more.
func (w *ownWrites) gone(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drop(uid)
}

// drop ends the wait for an object. The lock is held.
func (w *ownWrites) drop(uid types.UID) {
	expected, ok := w.objects[uid]
	if !ok {
		return
	}
	delete(w.objects, uid)
	s := w.sets[expected.set]
	delete(s.uids, uid)
	if len(s.uids) == 0 {
		delete(w.sets, expected.set)
	}
}

// forget ends all waits on behalf of a set.
func (w *ownWrites) forget(set types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dropAll(set)
}

func (w *ownWrites) dropAll(set types.NamespacedName) {
	if s := w.sets[set]; s != nil {
		for uid := range s.uids {
			delete(w.objects, uid)
		}
		delete(w.sets, set)
	}
}

// outstanding returns how long to wait at most for the caches to show all writes
// on behalf of set; 0 if they do.
func (w *ownWrites) outstanding(set types.NamespacedName) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.sets[set]
	if s == nil {
		return 0
	}
	wait := cacheLag - time.Since(s.last)
	if wait <= 0 {
		w.dropAll(set)
		return 0
	}
	return wait
}
