// Package locked is the first store that comes to mind: a map, an index, and one lock
// for both. README.md of step 5 says what is wrong with that.
package locked

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Store holds objects by key and by a value of each.
type Store struct {
	lock    chan struct{} // full while it is held. A sync.Mutex does the same, but fake time cannot see who waits for one
	index   func(*corev1.ConfigMap) string
	objects map[types.NamespacedName]*corev1.ConfigMap
	indexed map[string]map[types.NamespacedName]bool
}

// New returns an empty store. index returns the value under which an object is found.
func New(index func(*corev1.ConfigMap) string) *Store {
	return &Store{
		lock:    make(chan struct{}, 1),
		index:   index,
		objects: map[types.NamespacedName]*corev1.ConfigMap{},
		indexed: map[string]map[types.NamespacedName]bool{},
	}
}

// Set stores a state of an object.
func (s *Store) Set(obj *corev1.ConfigMap) {
	s.lock <- struct{}{}
	defer func() { <-s.lock }()
	key := types.NamespacedName{Namespace: obj.Namespace, Name: obj.Name}
	if old := s.objects[key]; old != nil {
		delete(s.indexed[s.index(old)], key)
	}
	s.objects[key] = obj
	value := s.index(obj)
	if s.indexed[value] == nil {
		s.indexed[value] = map[types.NamespacedName]bool{}
	}
	s.indexed[value][key] = true
}

// ByIndex calls each for the objects with a value.
func (s *Store) ByIndex(value string, each func(*corev1.ConfigMap)) {
	s.lock <- struct{}{}
	defer func() { <-s.lock }()
	for key := range s.indexed[value] {
		each(s.objects[key])
	}
}
