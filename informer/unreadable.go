package informer

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/internal/object"
	"github.com/informerkit/informerkit/reflector"
)

// ErrUnreadable is in the errors of reads and waits of an object that the server has, but
// that the cache has not, as it could not be decoded or its Transform failed. It is not a
// NotFound: what belongs to such an object must not be cleaned up. The object is read again
// with the next list, and an error of a reconcile function retries.
//
// If the name of an unreadable object is not known, it may be that of any key that is not in
// the cache, and the error is returned for all of them.
var ErrUnreadable = errors.New("the server has an object that cannot be read")

// maxUnreadable bounds how many unreadable objects of a source are known by name.
const maxUnreadable = 10_000

// unreadable has the objects that a source has received and could not read. They are added
// before the list that they are missing from is queued, and removed after the change that
// makes up for them was published. So there is no moment at which such an object is neither
// in the cache nor here.
type unreadable struct {
	any atomic.Bool // whether there are objects, so that changes cost no lock if not

	mu              sync.Mutex // guards all below
	queued, applied int        // lists
	objects         map[types.NamespacedName]unreadObject
}

// unreadObject is an object that could not be read. Of those without a name there is one, under the
// zero key.
type unreadObject struct {
	err    *reflector.ObjectError
	list   int  // it is unreadable as of this list
	listed bool // the list has it, unreadable
	queued bool // a readable state, or the deletion, was queued since
}

// add adds objects: those of the list that will be queued next, or of an event. It returns their
// keys, or none if any object of the source may be meant.
func (u *unreadable) add(ofList bool, objs []*reflector.ObjectError) (keys []types.NamespacedName) {
	u.mu.Lock()
	defer u.mu.Unlock()
	list := u.queued
	if ofList {
		list++
	}
	if u.objects == nil {
		u.objects = map[types.NamespacedName]unreadObject{}
	}
	for _, oe := range objs {
		key := oe.Key
		if key.Name == "" || len(u.objects) >= maxUnreadable {
			key = types.NamespacedName{}
		}
		u.objects[key] = unreadObject{err: oe, list: list, listed: ofList}
		keys = append(keys, key)
	}
	u.any.Store(len(u.objects) > 0)
	if slices.Contains(keys, types.NamespacedName{}) {
		return nil
	}
	return keys
}

// inherit adds the objects of a source in whose place this one comes, until its first list.
func (u *unreadable) inherit(before *unreadable) {
	before.mu.Lock()
	defer before.mu.Unlock()
	for _, o := range before.objects {
		u.add(false, []*reflector.ObjectError{o.err})
	}
}

// queueList counts a list that is about to be queued, or, with -1, that could not be.
func (u *unreadable) queueList(n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.queued += n
}

// queueObject notes that a readable state of an object, or its deletion, is about to be queued.
func (u *unreadable) queueObject(obj metav1.Object) {
	if !u.any.Load() {
		return
	}
	key := object.KeyOf(obj)
	u.mu.Lock()
	defer u.mu.Unlock()
	if o, ok := u.objects[key]; ok {
		o.queued = true
		u.objects[key] = o
	}
}

// applyObject removes an object whose readable state, or deletion, is published.
func (u *unreadable) applyObject(obj metav1.Object) {
	if !u.any.Load() {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if key := object.KeyOf(obj); u.objects[key].queued { // else it became unreadable after what is published
		u.removeLocked(key)
	}
}

// applyList removes what was unreadable before the next list, which is published.
func (u *unreadable) applyList() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.applied++
	for key, o := range u.objects {
		if o.list < u.applied {
			u.removeLocked(key)
		}
	}
}

// remove removes an object that was deleted.
func (u *unreadable) remove(key types.NamespacedName) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.removeLocked(key)
}

func (u *unreadable) removeLocked(key types.NamespacedName) {
	delete(u.objects, key)
	u.any.Store(len(u.objects) > 0)
}

// inList returns the state in which a list had an object, unreadable, and the number of the list; 0 if none had.
func (u *unreadable) inList(key types.NamespacedName) (version string, list int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if o, ok := u.objects[key]; ok && o.listed {
		return o.err.ResourceVersion, o.list
	}
	return "", 0
}

// find returns why the object with this key may be unreadable, or nil.
func (u *unreadable) find(key types.NamespacedName) *reflector.ObjectError {
	if !u.any.Load() {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if o, ok := u.objects[key]; ok {
		return o.err
	}
	return u.objects[types.NamespacedName{}].err
}
