package build

import (
	"iter"
	"maps"
	"reflect"
	"slices"
	"sync/atomic"
)

// Snapshot is the state at one version. Once it is published it never changes, so any
// number of readers need no lock. The objects are shared by all: never change one.
type Snapshot struct {
	Version string
	objects map[Key]*Object
	indexed map[string][]*Object
	index   func(*Object) []string
}

// Get returns an object, or nil.
func (s *Snapshot) Get(key Key) *Object { return s.objects[key] }

// Len returns how many objects there are.
func (s *Snapshot) Len() int { return len(s.objects) }

// All yields all objects.
func (s *Snapshot) All() iter.Seq[*Object] { return maps.Values(s.objects) }

// ByIndex returns the objects with a value.
func (s *Snapshot) ByIndex(value string) []*Object { return s.indexed[value] }

// Set stores a state of an object, or removes it if that is nil. It is for the one who
// made the snapshot, before it is published.
func (s *Snapshot) Set(key Key, obj *Object) {
	if old := s.objects[key]; old != nil {
		delete(s.objects, key)
		for _, value := range s.values(old) {
			// A new slice: older snapshots have the old one.
			s.indexed[value] = slices.DeleteFunc(slices.Clone(s.indexed[value]), func(o *Object) bool { return o == old })
			if len(s.indexed[value]) == 0 {
				delete(s.indexed, value)
			}
		}
	}
	if obj != nil {
		s.objects[key] = obj
		for _, value := range s.values(obj) {
			s.indexed[value] = append(slices.Clip(s.indexed[value]), obj)
		}
	}
}

func (s *Snapshot) values(obj *Object) []string {
	if s.index == nil {
		return nil
	}
	return s.index(obj)
}

// Store holds the present snapshot. One goroutine writes, any number read. The zero
// value is ready to use; set the fields before.
type Store struct {
	// Index returns the values under which an object is found.
	Index func(*Object) []string
	// OnMutation is called with the key of an object that a reader has changed. If it is
	// set, each Publish compares all objects with copies: for tests.
	OnMutation func(Key)

	current atomic.Pointer[Snapshot]
	copies  map[Key]*Object
}

// Snapshot returns the present state.
func (s *Store) Snapshot() *Snapshot {
	if now := s.current.Load(); now != nil {
		return now
	}
	return &Snapshot{objects: map[Key]*Object{}, indexed: map[string][]*Object{}}
}

// Next returns a copy of the present state, to be changed and published.
func (s *Store) Next() *Snapshot {
	now := s.Snapshot()
	return &Snapshot{Version: now.Version, objects: maps.Clone(now.objects), indexed: maps.Clone(now.indexed), index: s.Index}
}

// Publish makes a snapshot the present one, with everything in it at once.
func (s *Store) Publish(next *Snapshot) {
	if s.OnMutation != nil {
		for key, kept := range s.copies {
			if !reflect.DeepEqual(kept, s.Snapshot().Get(key)) {
				s.OnMutation(key)
			}
		}
		s.copies = map[Key]*Object{}
		for key, obj := range next.objects {
			s.copies[key] = obj.DeepCopy()
		}
	}
	s.current.Store(next)
}
