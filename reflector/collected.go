package reflector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/informerkit/informerkit/internal/object"
	"github.com/informerkit/informerkit/reflector/internal/wire"
)

// collectedList collects the objects of one reading of the collection, which come as
// events: those of a LIST are all ADDED, and initial events may change and delete what
// came before.
type collectedList[T Object] struct {
	namespace string   // of the source; see inNamespace
	known     Known[T] // nil: the sink has nothing, or cannot return it
	reuse     bool     // whether equal versions are equal states
	polled    bool     // objects without a version are compared: else each poll would be an update of each
	objs      []T
	index     map[types.NamespacedName]int // of objs
	// bad are the unreadable objects of which no readable state has come, and nameless
	// those of which not even the name is known.
	bad      map[types.NamespacedName]*ObjectError
	nameless []*ObjectError
	// lost says that a change among the initial events was unreadable, so that
	// objs may hold a state that is no longer so.
	lost bool
	// good counts the events that could be read, fresh those that brought a name for the
	// first time, and stale those that did not.
	good, fresh, stale int
	deletions          int // objects deleted: nil in objs
}

// maxStale bounds the objects of a LIST that bring no new name. An API server sends none;
// an answer without end may consist of them.
const maxStale = 1000

// newCollectedList returns an empty one.
func (r *Reflector[T]) newCollectedList() *collectedList[T] {
	known := r.known()
	return &collectedList[T]{
		namespace: r.namespace, known: known, reuse: known != nil && !r.pos.rewritten && !r.opts.DecodeUnchanged,
		polled: r.polling.retry > 0, index: map[types.NamespacedName]int{}, bad: map[types.NamespacedName]*ObjectError{},
	}
}

// have is the [Request].Known of the requests for this list: what the sink has in the
// server's version need not be decoded. It is nil if that is of no use.
func (c *collectedList[T]) have() func(key types.NamespacedName, uid, rv []byte) any {
	if !c.reuse {
		return nil
	}
	return func(key types.NamespacedName, uid, rv []byte) any {
		old, ok := c.old(key)
		// Without a version nothing says that the state is the same. Compared as bytes of the message, so no string is allocated.
		if !ok || len(rv) == 0 || old.GetResourceVersion() != string(rv) || string(old.GetUID()) != string(uid) {
			return nil
		}
		return old
	}
}

// old returns what the sink has of an object.
func (c *collectedList[T]) old(key types.NamespacedName) (T, bool) {
	if c.known == nil || key.Name == "" {
		var none T
		return none, false
	}
	obj, ok := c.known.Known(key)
	return obj, ok && !object.IsNil(obj)
}

// take takes over an event, and reports whether it brought a new name.
func (c *collectedList[T]) take(ev WatchEvent[T]) (fresh bool, err error) {
	ev = inNamespace(ev, c.namespace)
	switch {
	case ev.Known != nil:
		obj, ok := ev.Known.(T)
		if !ok {
			return false, &wire.DecodeError{Err: fmt.Errorf("the source handed over a %T as known", ev.Known)}
		}
		c.good++
		fresh = c.put(obj)
	case ev.Err != nil:
		fresh = c.refuse(ev.Type, asObjectError(ev.Err))
	case ev.Type == watch.Added, ev.Type == watch.Modified:
		c.good++
		// The pointer that the sink has: what the reader compares stays the same, and the
		// decoded copy is garbage at once.
		if c.reuse {
			if old, ok := c.old(object.KeyOf(ev.Object)); ok && (object.SameVersion(old, ev.Object) ||
				c.polled && ev.Object.GetResourceVersion() == "" && reflect.DeepEqual(old, ev.Object)) {
				ev.Object = old
			}
		}
		fresh = c.put(ev.Object)
	case ev.Type == watch.Deleted:
		c.remove(object.KeyOf(ev.Object))
	default:
		return false, unknownEvent(ev.Type)
	}
	if fresh {
		c.fresh++
	} else {
		c.stale++
	}
	return fresh, nil
}

// put adds or replaces an object.
func (c *collectedList[T]) put(obj T) (fresh bool) {
	key := object.KeyOf(obj)
	delete(c.bad, key)
	if i, ok := c.index[key]; ok {
		c.objs[i] = obj
		return false
	}
	c.index[key] = len(c.objs)
	c.objs = append(c.objs, obj)
	return key.Name != ""
}

// remove deletes an object.
func (c *collectedList[T]) remove(key types.NamespacedName) {
	delete(c.bad, key)
	if i, ok := c.index[key]; ok {
		// The place stays, so that the indexes of all others are right; finish closes
		// the gaps.
		var none T
		c.objs[i] = none
		c.deletions++
		delete(c.index, key)
	}
}

// refuse notes an object that could not be decoded or transformed.
func (c *collectedList[T]) refuse(typ watch.EventType, oe *ObjectError) (fresh bool) {
	if typ == watch.Deleted && oe.Key.Name != "" {
		c.remove(oe.Key)
		return false
	}
	if oe.Class == classOutside {
		c.remove(oe.Key)
		c.bad[oe.Key] = oe
		return false
	}
	// The first state of an object is quarantined like one in a list. A change of one
	// leaves an older state in the list, which must not pass for that of the bookmark.
	c.lost = c.lost || typ != watch.Added
	if oe.Key.Name == "" {
		c.nameless = append(c.nameless, oe)
		return false
	}
	_, again := c.bad[oe.Key]
	if _, have := c.index[oe.Key]; have {
		again = true
	} else if old, ok := c.old(oe.Key); ok {
		// Better an old version than none: an object that is missing from a Replace is
		// deleted.
		c.put(old)
	}
	c.bad[oe.Key] = oe // the newer one stands for both
	return !again
}

// unreadable returns the objects that could not be read, in their order. It is an error if
// there is no other: the fault is with the type or the server then, and a Replace would
// delete everything.
func (c *collectedList[T]) unreadable() ([]*ObjectError, error) {
	bad := slices.AppendSeq(slices.Clone(c.nameless), maps.Values(c.bad))
	sortByPosition(bad)
	if c.good > 0 || len(bad) == 0 {
		return bad, nil
	}
	return nil, fmt.Errorf("none of the %d objects could be read, the first one because of: %w", len(bad), bad[0])
}

// sortByPosition is no method, so that a program compiles it once, and not with each of its packages.
func sortByPosition(bad []*ObjectError) {
	slices.SortFunc(bad, func(a, b *ObjectError) int {
		return cmp.Or(cmp.Compare(a.Position, b.Position), cmp.Compare(a.name(), b.name()))
	})
}

// finish returns the objects in order of arrival. The list is used up.
func (c *collectedList[T]) finish() []T {
	c.index = nil
	if c.deletions == 0 {
		return c.objs
	}
	return slices.DeleteFunc(c.objs, func(obj T) bool { return object.IsNil(obj) })
}

// replace gives the collection as of rv to the sink.
func (r *Reflector[T]) replace(ctx context.Context, list *collectedList[T], rv string) error {
	bad, err := list.unreadable()
	if err != nil {
		return err
	}
	if list.reuse && isBefore(rv, r.pos.rv) {
		return errWentBack
	}
	objs := list.finish()
	n := len(objs)
	// Nothing is noted unless the sink has accepted it: the position must not get ahead
	// of it.
	r.unreadable(true, bad...) // before it can be missed
	if err := r.sink.Replace(ctx, objs, rv); err != nil {
		return &sinkError{op: "Replace", err: err}
	}
	now := time.Now()
	r.pos.synced(rv)
	r.moved = now
	r.status.update(func(h *Health) { h.Synced, h.LastSync, h.ResourceVersion = true, now, rv })
	r.requarantine(bad)
	// An object may be in an older state than rv says, so another list is due.
	if list.lost {
		r.lose()
	}
	r.setState(StateSynced)
	level := slog.LevelInfo
	if r.polling.retry > 0 { // twice a minute
		level = slog.LevelDebug
	}
	r.log(level, "synced", "the reflector has read its collection", "objects", n, "resourceVersion", rv, "quarantined", len(bad))
	return nil
}

// asObjectError makes sure of the type of a per-object error; sources of users
// may use any.
func asObjectError(err error) *ObjectError {
	var oe *ObjectError
	if errors.As(err, &oe) {
		return oe
	}
	return &ObjectError{Class: ClassDecode, Err: err}
}
