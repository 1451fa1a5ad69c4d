package build

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Object is what the server stores. A ConfigMap is the simplest: a map[string]string
// with a name. Nothing in these steps depends on it but the decoding.
type Object = corev1.ConfigMap

// Key is the namespace and the name of an object.
type Key = types.NamespacedName

// KeyOf returns the key of an object.
func KeyOf(obj *Object) Key { return Key{Namespace: obj.Namespace, Name: obj.Name} }

// Added is the type of an event of a new object.
const Added = "Added"

// Updated is that of an object that has changed.
const Updated = "Updated"

// Deleted is that of an object that is gone.
const Deleted = "Deleted"

// Event is a change of one object. Old is nil if it is new, New if it is deleted.
type Event struct {
	Type     string
	Key      Key
	Old, New *Object
	// Tombstone is true for a deletion that was not seen: Old is the last state that is
	// known, and may not be the last one that there was.
	Tombstone bool
}

// Object returns the newest state.
func (e Event) Object() *Object {
	if e.New != nil {
		return e.New
	}
	return e.Old
}

// String is for display.
func (e Event) String() string { return e.Type + " " + e.Key.Name }

// change returns what a state of an object means, after another one: nil, if there was
// none. The version of an object changes with every write of it.
func change(old, obj *Object) []Event {
	switch {
	case old == nil:
		return []Event{{Type: Added, Key: KeyOf(obj), New: obj}}
	case old.UID != obj.UID: // another object has taken the name
		return append([]Event{tombstone(old)}, change(nil, obj)...)
	case old.ResourceVersion != obj.ResourceVersion:
		return []Event{{Type: Updated, Key: KeyOf(obj), Old: old, New: obj}}
	}
	return nil
}

// tombstone returns the deletion of an object that was found missing.
func tombstone(old *Object) Event {
	return Event{Type: Deleted, Key: KeyOf(old), Old: old, Tombstone: true}
}
