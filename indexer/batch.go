package indexer

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	rvutil "k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/informerkit/informerkit/indexer/internal/pmap"
	"github.com/informerkit/informerkit/internal/object"
)

// Batch is a set of writes that become visible together, with Commit, or not at
// all. It holds the indexer's writer lock from [Indexer.Batch] until Commit or
// Discard, and belongs to one goroutine.
//
// `defer b.Discard()` right after Batch is the safe idiom: after Commit it does
// nothing.
//
// The lock is held for the whole batch rather than for each write, for two reasons. The
// next state is edited in place, which allows only one writer. And a caller that reads,
// decides and writes in one batch need not expect another writer in between.
type Batch[T Object] struct {
	ix   *Indexer[T]
	next *Snapshot[T] // nil once the batch has ended
	// edit names the batch: the nodes of next that it has made are edited in place.
	edit pmap.Edit
	// dirty is set by the first write with an effect. A batch without any publishes
	// nothing: readers that compare snapshot pointers see that nothing happened.
	dirty     bool
	ownTables bool // next.tables is not shared with another snapshot
}

// Batch starts a batch on the current state. It waits for a running batch to end, so
// index functions, which run within one, must not call it.
func (ix *Indexer[T]) Batch() *Batch[T] {
	b := ix.begin() // by value: Batch is inlined, and b need not be allocated
	return &b
}

// begin waits for the writer lock.
func (ix *Indexer[T]) begin() Batch[T] {
	ix.writer.Lock()
	// With the lock held, the current snapshot cannot be replaced under us. The copy
	// shares all nodes. Each is copied before its first change, as none carries the new Edit.
	next := *ix.Snapshot()
	return Batch[T]{ix: ix, next: &next, edit: pmap.NewEdit()}
}

// Commit publishes the writes and ends the batch. It returns the snapshot that
// readers see from now on; if nothing was written, the one they saw before. With
// [MutationOptions] it then compares objects, and OnMutation may be called.
func (b *Batch[T]) Commit() *Snapshot[T] {
	if b.next == nil {
		return b.ix.Snapshot()
	}
	s, found := b.publish()
	// Without the lock: a log may be slow, and OnMutation is the user's code and may panic. Then the caller's deferred
	// Discard has no effect.
	b.ix.shared.logFailures()
	b.ix.mutations.report(found)
	return s
}

// publish is the part of Commit that needs the lock, which it releases.
func (b *Batch[T]) publish() (s *Snapshot[T], found []Mutation) {
	before, next := b.ix.Snapshot(), b.next
	b.next = nil
	defer b.ix.writer.Unlock()
	if s = before; b.dirty {
		s = next
		b.ix.current.Store(s)
	}
	if b.ix.mutations != nil {
		found = b.ix.mutations.committed(before, s)
	}
	return s, found
}

// Discard discards the batch's writes and ends the batch. They were made on copies, which
// become garbage.
func (b *Batch[T]) Discard() {
	if b.next == nil {
		return
	}
	b.next = nil
	b.ix.writer.Unlock()
	b.ix.shared.logFailures()
}

// freeze returns the state of the batch as a snapshot that later writes of the
// batch do not touch.
func (b *Batch[T]) freeze() *Snapshot[T] {
	frozen := *b.next
	b.edit = pmap.NewEdit() // what exists now carries another one: later writes copy it
	b.ownTables = false
	return &frozen
}

// SetResourceVersion sets the resourceVersion of the collection that Commit will
// publish. It reports whether it was adopted. It is not if it is empty, "0" (which
// is not a version) or, where both are numbers, less than the current one. A
// version that cannot be compared is adopted.
func (b *Batch[T]) SetResourceVersion(rv string) bool {
	if b.next == nil || rv == "" || rv == "0" {
		return false
	}
	// The comparison fails for a version that is not a decimal number, such as one of an
	// extension API server with a store of its own. There is then no reason to distrust
	// it.
	if c, err := rvutil.CompareResourceVersion(rv, b.next.rv); err == nil && c < 0 {
		return false
	}
	if b.next.rv != rv {
		b.next.rv = rv
		b.dirty = true
	}
	return true
}

// Set stores an object in place of the one with its key, if there is one, and
// returns that. It fails, and changes nothing, if the object is nil, if it has no
// name, or if the batch has ended. Setting the stored pointer again changes nothing.
func (b *Batch[T]) Set(obj T) (old T, existed bool, err error) {
	if b.next == nil {
		return old, false, errBatchEnded
	}
	key, err := keyOf(obj)
	if err != nil {
		return old, false, err
	}
	old, existed = b.set(key, obj)
	return old, existed, nil
}

// keyOf returns the key of an object, or an error if it cannot be stored.
func keyOf[T Object](obj T) (key types.NamespacedName, err error) {
	if object.IsNil(obj) {
		return key, fmt.Errorf("%w: object is nil", errInvalidObject)
	}
	if key = object.KeyOf(obj); key.Name == "" {
		return key, fmt.Errorf("%w: object has no metadata.name (namespace %q)", errInvalidObject, key.Namespace)
	}
	return key, nil
}

// set is Set for a valid object of a running batch.
func (b *Batch[T]) set(key types.NamespacedName, obj T) (old T, existed bool) {
	s := b.next
	r, at := s.lookup(key)
	if r != nil {
		if old = r.obj; identical(old, obj) {
			return old, true
		}
	} else {
		at.number = s.objects.Free()
		s.numbers.Add(b.edit, at)
		s.namespaces.add(b.edit, s.shared, key.Namespace, number(at.number))
	}
	b.dirty = true
	s.objects.Set(b.edit, at.number, record[T]{key, obj})
	// Every index sees every write before Commit: objects and indexes are published by
	// one pointer, and cannot disagree in any snapshot.
	for i, t := range s.tables {
		b.setTable(i, t.set(b.edit, at.number, key, obj))
	}
	return old, r != nil
}

// Delete removes the object with that key and returns it. After the end of the
// batch it removes nothing.
func (b *Batch[T]) Delete(key types.NamespacedName) (old T, existed bool) {
	s := b.next
	if s == nil {
		return old, false
	}
	r, at := s.lookup(key)
	if r == nil {
		return old, false
	}
	old = r.obj // now, as the batch may own the memory of r
	b.dirty = true
	s.objects.Delete(b.edit, at.number)
	s.numbers.Delete(b.edit, at)
	s.namespaces.remove(b.edit, s.shared, key.Namespace, number(at.number))
	for i, t := range s.tables {
		b.setTable(i, t.delete(b.edit, at.number))
	}
	return old, true
}

// setTable makes a table that of the batch.
func (b *Batch[T]) setTable(i int, t table[T]) {
	s := b.next
	if t == s.tables[i] {
		return
	}
	// The slice still belongs to the snapshot that the batch began with. One
	// clone per batch, or per freeze, is enough.
	if !b.ownTables {
		s.tables = slices.Clone(s.tables)
		b.ownTables = true
	}
	s.tables[i] = t
}
