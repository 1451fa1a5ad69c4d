package clientgo

import (
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// doomedPods remembers, for each set, the pods whose deletion it has asked for and
// the cache may still show. The zero value is ready to use; the methods may be
// called concurrently.
//
// It is compared with what a round has read from the cache, and not cleared by the
// pods' Delete events: such an event may come between the round's look at the cache
// and its look at this memory, and the round would take a deleted pod for a living
// one, and delete another in its place.
type doomedPods struct {
	mu    sync.Mutex
	bySet map[types.NamespacedName]map[types.UID]struct{}
}

// Add remembers a pod of a set. Call it before the request: when the answer comes,
// the pod may be gone.
func (d *doomedPods) Add(set types.NamespacedName, pod types.UID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.bySet == nil {
		d.bySet = map[types.NamespacedName]map[types.UID]struct{}{}
	}
	if d.bySet[set] == nil {
		d.bySet[set] = map[types.UID]struct{}{}
	}
	d.bySet[set][pod] = struct{}{}
}

// Remove forgets a pod that has not been deleted after all.
func (d *doomedPods) Remove(set types.NamespacedName, pod types.UID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.bySet[set], pod)
}

// Forget forgets all pods of a set that is gone.
func (d *doomedPods) Forget(set types.NamespacedName) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.bySet, set)
}

// Without returns those of the pods, which the cache shows of a set, whose deletion
// was not asked for, and forgets the pods that the cache does not show any more.
func (d *doomedPods) Without(set types.NamespacedName, shown []*corev1.Pod) []*corev1.Pod {
	d.mu.Lock()
	defer d.mu.Unlock()
	doomed := d.bySet[set]
	delete(d.bySet, set)
	if len(doomed) == 0 {
		return shown
	}
	still := map[types.UID]struct{}{}
	living := slices.DeleteFunc(slices.Clone(shown), func(pod *corev1.Pod) bool {
		_, ok := doomed[pod.UID]
		if ok {
			still[pod.UID] = struct{}{}
		}
		return ok
	})
	if len(still) > 0 {
		d.bySet[set] = still
	}
	return living
}
