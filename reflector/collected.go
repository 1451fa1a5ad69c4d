package reflector

import (
	"errors"
	"fmt"
	"hash/maphash"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/internal/object"
	"github.com/informerkit/informerkit/reflector/internal/wire"
)

// collectedList collects the objects of one reading of the collection.
type collectedList[T Object] struct {
	known Known[T]
	reuse bool // whether equal versions are equal states
	objs  []T
	bad   []*ObjectError // nil: there is good news of it
	// index finds objects by key, for initial events, which may change and
	// delete what came before. It is nil for lists, which hold each key once.
	index map[types.NamespacedName]int
	// badAt finds unreadable objects that have a name in bad, for initial events.
	badAt     map[types.NamespacedName]int
	deletions int // objects deleted: nil in objs
	// lost says that a change among the initial events was unreadable, so that
	// objs may hold a state that is no longer so.
	lost bool
	// good counts the objects that could be decoded, fresh the names that have
	// come for the first time, stale the objects of a list that have none, or
	// one that has come before. seen holds the hashes of the names of a list.
	good, fresh, stale int
	seen               map[uint64]struct{}
}

// maxStale bounds the objects of one reading of the collection that bring no new
// name. An API server sends none; an answer without end may consist of them.
const maxStale = 1000

// hashSeed makes the hashes of names unknown to the server, which could otherwise
// choose names that collide.
var hashSeed = maphash.MakeSeed()

// countName counts an object by its name, and refuses an answer that repeats itself.
func (r *collectedList[T]) countName(key types.NamespacedName) error {
	// A hash of 8 bytes instead of the name: two names that collide are counted as
	// stale once, and nothing is lost by that.
	hash := maphash.Comparable(hashSeed, key)
	if _, again := r.seen[hash]; key.Name == "" || again {
		if r.stale++; r.stale > maxStale {
			return &wire.DecodeError{Err: fmt.Errorf("more than %d objects have no name, or that of another one", maxStale)}
		}
		return nil
	}
	if r.seen == nil {
		r.seen = map[uint64]struct{}{}
	}
	r.seen[hash] = struct{}{}
	r.fresh++
	return nil
}

// unreadable returns an error for a collection that is not empty, and of which
// not one object could be decoded. It is not known then. The collection is
// complete.
func (r *collectedList[T]) unreadable() error {
	r.bad = slices.DeleteFunc(r.bad, func(oe *ObjectError) bool { return oe == nil })
	if r.good > 0 || len(r.bad) == 0 {
		return nil
	}
	return fmt.Errorf("none of the %d objects could be read, the first one because of: %w", len(r.bad), r.bad[0])
}

// newCollectedList returns an empty one: for a LIST, or for initial events.
func (r *Reflector[T]) newCollectedList(events bool) *collectedList[T] {
	known := r.known()
	out := &collectedList[T]{known: known, reuse: known != nil && !r.pos.rewritten && !r.opts.DecodeUnchanged}
	if events {
		out.index, out.badAt = map[types.NamespacedName]int{}, map[types.NamespacedName]int{}
	}
	return out
}

// reset empties the list before the collection is read once more from its first page.
func (r *collectedList[T]) reset() { *r = collectedList[T]{known: r.known, reuse: r.reuse} }

// take takes over an object of a list, or notes that it is unreadable.
func (r *collectedList[T]) take(obj T, err error) error {
	old, same := unchangedObject[T](err)
	switch {
	case same:
		obj = old
	case err != nil:
		return r.refuse(err)
	}
	if err := r.countName(object.KeyOf(obj)); err != nil {
		return err
	}
	if same {
		r.store(obj)
	} else {
		r.put(obj)
	}
	r.good++
	return nil
}

// put adds or replaces an object and reports whether its key is new.
func (r *collectedList[T]) put(obj T) bool {
	// The pointer that the sink has: what the reader compares stays the same, and the
	// decoded copy is garbage at once.
	if r.reuse {
		if old, ok := r.known.Known(object.KeyOf(obj)); ok && !object.IsNil(old) && object.SameVersion(old, obj) {
			obj = old
		}
	}
	return r.store(obj)
}

// store adds or replaces an object as it is, and reports whether its key is new.
func (r *collectedList[T]) store(obj T) bool {
	// A list has each object once, so it needs no index. For 100,000 objects that is a
	// map of several megabytes.
	if r.index == nil {
		r.objs = append(r.objs, obj)
		return true
	}
	key := object.KeyOf(obj)
	r.clearBad(key)
	if i, ok := r.index[key]; ok {
		r.objs[i] = obj
		return false
	}
	r.index[key] = len(r.objs)
	r.objs = append(r.objs, obj)
	return true
}

// clearBad drops the note that an earlier event of an object was unreadable.
func (r *collectedList[T]) clearBad(key types.NamespacedName) {
	if i, ok := r.badAt[key]; ok {
		r.bad[i] = nil
		delete(r.badAt, key)
	}
}

// remove deletes an object.
func (r *collectedList[T]) remove(key types.NamespacedName) {
	r.clearBad(key)
	if i, ok := r.index[key]; ok {
		// The place stays, so that the indexes of all others are right; finish closes
		// the gaps.
		var none T
		r.objs[i] = none
		r.deletions++
		delete(r.index, key)
	}
}

// refuse notes an object that could not be decoded or transformed. Any other
// error ends the list.
func (r *collectedList[T]) refuse(err error) error {
	var oe *ObjectError
	if !errors.As(err, &oe) {
		return err
	}
	if r.index == nil || oe.Key.Name == "" {
		if err := r.countName(oe.Key); err != nil {
			return err
		}
	}
	// Better an old version than none: an object that is missing from a
	// Replace is deleted.
	if _, have := r.index[oe.Key]; !have && r.known != nil && oe.Key.Name != "" {
		if old, ok := r.known.Known(oe.Key); ok && !object.IsNil(old) {
			r.put(old)
		}
	}
	if r.index != nil && oe.Key.Name != "" {
		r.clearBad(oe.Key) // the newer one stands for both
		r.badAt[oe.Key] = len(r.bad)
	}
	r.bad = append(r.bad, oe)
	return nil
}

// finish returns the objects in order of arrival. The list is used up.
func (r *collectedList[T]) finish() []T {
	r.index = nil
	if r.deletions == 0 {
		return r.objs
	}
	out := r.objs[:0]
	for _, o := range r.objs {
		if !object.IsNil(o) {
			out = append(out, o)
		}
	}
	// The slice is given away, so what is behind its end must not keep objects alive.
	clear(r.objs[len(out):])
	return out
}
