package indexer

import (
	"fmt"
	"iter"
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
	// dirty is set by the first write with an effect. A batch without any publishes
	// nothing: readers that compare snapshot pointers see that nothing happened.
	dirty     bool
	ownTables bool // next.tables is not shared with another snapshot
}

// Batch starts a batch on the current state. It waits for a running batch to end, so
// index functions and OnMutation, which run within one, must not call it.
func (ix *Indexer[T]) Batch() *Batch[T] {
	// So little is done here that the compiler puts this into the caller, where the batch
	// needs no memory but that of the stack.
	return &Batch[T]{ix: ix, next: ix.begin()}
}

// begin waits for the writer lock and returns the state for a batch to edit.
func (ix *Indexer[T]) begin() *Snapshot[T] {
	ix.writer.Lock()
	// With the lock held, the current snapshot cannot be replaced under us. The copy
	// shares all nodes; with the higher generation each of them is copied before its
	// first change.
	next := *ix.Snapshot()
	// It is also higher than that of a batch that was discarded, so that what Discard has
	// restored in the table is not newer than the next snapshot.
	next.gen = ix.lookup.gen + 1
	next.lookup, next.removed = ix.lookup.lookup, ix.lookup.removed
	return &next
}

// Commit publishes the writes and ends the batch. It returns the snapshot that
// readers see from now on; if nothing was written, the one they saw before. With
// [MutationOptions] it then compares objects, and OnMutation may be called.
func (b *Batch[T]) Commit() *Snapshot[T] {
	s := b.next
	if s == nil {
		return b.ix.Snapshot()
	}
	b.next = nil
	b.ix.lookup.ended(s.gen)
	defer b.ix.writer.Unlock() // deferred, for OnMutation may panic
	// The store comes before OnMutation: if that panics, the batch is published and the
	// lock released, which is what the caller's deferred Discard (then without effect)
	// relies on.
	if b.dirty {
		b.ix.current.Store(s)
	} else {
		s = b.ix.Snapshot()
	}
	if d := s.shared.mutations; d != nil {
		// Also without a write: each Commit compares one sample, see MutationOptions.
		d.commit()
	}
	return s
}

// Discard discards the batch's writes and ends the batch.
// The snapshot of the batch is dropped as garbage. Only the table of keys, which all
// snapshots share, has to be restored.
func (b *Batch[T]) Discard() {
	s := b.next
	if s == nil {
		return
	}
	defer b.ix.writer.Unlock()
	b.next = nil
	if d := s.shared.mutations; d != nil {
		d.pending = nil // the writes are not going to be published
	}
	if b.dirty {
		b.restore(s)
	}
	b.ix.lookup.ended(s.gen)
}

// restore brings the table back to the published state, which readers of the published
// snapshot do not need, but the next batch does. It costs what the batch has changed.
func (b *Batch[T]) restore(discarded *Snapshot[T]) {
	published, w := b.ix.Snapshot(), &b.ix.lookup
	if published.lookup == emptyLookup {
		w.drop()
	}
	if w.edited != nil {
		clear(w.edited[:]) // of what is garbage now
	}
	pmap.DiffArrays(discarded.objs, published.objs, func(number uint32, d *pmap.ArrayDelta[T, keys]) bool {
		if !w.small() {
			b.restoreNumber(discarded.gen, published, number, d)
		}
		if d.HasNew {
			// Whatever the signature was, the next write looks at the values themselves.
			w.unsign(number)
		}
		return true
	})
	w.restorePlaces()
}

// restoreNumber brings back what the table has under a number.
func (b *Batch[T]) restoreNumber(gen uint64, published *Snapshot[T], number uint32, d *pmap.ArrayDelta[T, keys]) {
	w := &b.ix.lookup
	hash := func(keys *keys) uint64 {
		key := keys.key(number)
		return published.shared.hasher.key(&key)
	}
	if d.HasOld && d.HasNew && d.OldKeys.same(d.NewKeys, number) {
		w.change(gen, number).share(number, d.NewKeys)
	} else {
		keys := published.objs.Keys(number)
		if d.HasOld {
			w.remove(hash(d.OldKeys), gen, number, keys)
		}
		if d.HasNew {
			w.add(hash(d.NewKeys), gen, number, 0, keys, nil)
		}
	}
	if d.HasNew {
		// Also where the batch ended with the same object: it may have stored another one before.
		w.set(gen, number, published.shared.pointer(d.New))
	}
}

// Get returns the object with that key as the batch has it so far.
func (b *Batch[T]) Get(key types.NamespacedName) (T, bool) {
	if b.next == nil {
		var zero T
		return zero, false
	}
	return b.next.Get(key)
}

// Len returns the number of objects that the batch has so far.
func (b *Batch[T]) Len() int {
	if b.next == nil {
		return 0
	}
	return b.next.Len()
}

// All iterates over the objects that the batch has at the time of the call;
// writing to the batch meanwhile does not disturb the iteration.
func (b *Batch[T]) All() iter.Seq[T] {
	if b.next == nil {
		return func(func(T) bool) {}
	}
	// The iterator below reads nodes that this batch owns. Without the freeze, a Set
	// within the loop would edit them in place under the iterator.
	return b.freeze().All()
}

// freeze returns the state of the batch as a snapshot that later writes of the
// batch do not touch.
func (b *Batch[T]) freeze() *Snapshot[T] {
	frozen := *b.next
	b.next.gen++ // what exists now is older: later writes copy it
	b.ownTables = false
	return &frozen
}

// ResourceVersion returns the resourceVersion that Commit will publish.
func (b *Batch[T]) ResourceVersion() string {
	if b.next == nil {
		return ""
	}
	return b.next.rv
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
	switch {
	case b.next == nil:
		return old, false, ErrBatchEnded
	case object.IsNil(obj):
		return old, false, errNilObject
	}
	key := object.KeyOf(obj)
	if err := checkKey(key); err != nil {
		return old, false, err
	}
	old, existed = b.set(key, obj)
	return old, existed, nil
}

// checkKey returns an error for a key that no object can have.
func checkKey(key types.NamespacedName) error {
	switch {
	case key.Name == "":
		return fmt.Errorf("%w (namespace %q)", errNoName, key.Namespace)
	case len(key.Namespace)+len(key.Name) > maxKey:
		return fmt.Errorf("%w (%d bytes)", errLongKey, len(key.Namespace)+len(key.Name))
	default:
		return nil
	}
}

// set is Set for a valid object of a running batch.
func (b *Batch[T]) set(key types.NamespacedName, obj T) (old T, existed bool) {
	s := b.next
	// The object has just arrived, and the key and what indexes look at are in different lines of
	// its memory. If they are asked for one right after the other, both come at the same time.
	signature, sure := b.sign(obj)
	h := s.shared.hasher.key(&key)
	// To find the number for sure takes three reads, one after the other, of memory that is
	// probably not in the CPU caches. Meanwhile the memory that Set copies can be on its way.
	s.objs.Prefetch(b.ix.lookup.likely(h))
	number, old, existed := s.search(&key, h)
	if existed && identical(old, obj) {
		b.forget()
		return old, true
	}
	b.dirty = true
	if existed {
		// An object that exists is the common case by far. Nothing is copied for it but the
		// path to its place in objs.
		s.objs.Set(s.gen, number, obj)
		b.ix.lookup.set(s.gen, number, s.shared.pointer(obj))
		s.lookup = b.ix.lookup.lookup
	} else {
		number = b.insert(&key, h, obj)
	}
	if len(s.tables) > 0 {
		b.index(number, entry[T]{old, existed}, obj, signature, sure)
	}
	b.watch(key, entry[T]{obj, true})
	return old, existed
}

// insert stores an object that is new and returns its number.
func (b *Batch[T]) insert(key *types.NamespacedName, h uint64, obj T) uint32 {
	s := b.next
	w := &b.ix.lookup
	nb := s.editBucket(key.Namespace, w)
	if w.small() && s.Len() < neighbours {
		number, edit := s.objs.Add(s.gen, obj)
		*edit.Keys = (*edit.Keys).with(number, key, edit.Own, true)
		w.place(number)
		nb.add(w, s.gen, number)
		return number
	}
	if w.small() {
		b.makeTable()
	}
	number, edit := s.objs.Add(s.gen, obj)
	*edit.Keys = (*edit.Keys).with(number, key, edit.Own, false)
	w.add(h, s.gen, number, unplaced, *edit.Keys, s.shared.pointer(obj))
	nb.add(w, s.gen, number)
	s.lookup, s.removed = w.lookup, w.removed // which belong together
	return number
}

// makeTable puts what there is into a table, as the store is not going to be small.
func (b *Batch[T]) makeTable() {
	s, w := b.next, &b.ix.lookup
	w.edited = &bucketCache{}
	s.objs.Each(func(number uint32, obj T, keys *keys) bool {
		key := keys.key(number)
		w.add(s.shared.hasher.key(&key), s.gen, number, w.places[number], keys, s.shared.pointer(obj))
		return true
	})
}

// Delete removes the object with that key and returns it. After the end of the
// batch it removes nothing.
func (b *Batch[T]) Delete(key types.NamespacedName) (old T, existed bool) {
	s := b.next
	if s == nil {
		return old, false
	}
	h := s.shared.hasher.key(&key)
	number, old, existed := s.search(&key, h)
	if !existed {
		return old, false
	}
	b.dirty = true
	w := &b.ix.lookup
	signature := w.signature(number)
	nb := s.editBucket(key.Namespace, w)
	nb.remove(w, s.gen, number)
	if nb.len() == 0 {
		s.removeBucket(nb, w)
	}
	_, edit := s.objs.Remove(s.gen, number)
	if edit.Keys != nil {
		*edit.Keys = (*edit.Keys).without(number)
	}
	// A reader of an older snapshot that does not find the object in the table any more
	// has to find it in the list, so the list comes first.
	w.log(h, number)
	w.remove(h, s.gen, number, s.objs.Keys(number))
	s.lookup, s.removed = w.lookup, w.removed
	b.changed(number, entry[T]{old, true}, entry[T]{}, signature)
	b.watch(key, entry[T]{})
	return old, true
}

// index brings every index to a new version of an object, which sign was last called for.
func (b *Batch[T]) index(number uint32, before entry[T], obj T, signature uint64, sure bool) {
	was := b.ix.lookup.sign(number, signature)
	if before.ok && sure && was == signature {
		b.forget()
		return
	}
	b.changed(number, before, entry[T]{obj, true}, was)
}

// changed brings every index from the old version of an object, with the signature that it had
// when it was stored, to the new one.
func (b *Batch[T]) changed(number uint32, before, after entry[T], signature uint64) {
	s := b.next
	var found uint64   // the signature of what the old version was taken out of
	var moved []string // the indexes that show that it is not what was stored
	// Every index sees every write before Commit: objects and indexes are published by
	// one pointer, and cannot disagree in any snapshot.
	for i, t := range s.tables {
		own, h, ok := t.change(s.gen, number, before, after)
		b.setTable(i, own)
		found += h
		if !ok {
			moved = append(moved, own.definition().Name())
		}
	}
	// Where the old version has fewer values than when it was stored, no index can see that. A number
	// that stays under a value would sooner or later be that of another object.
	if !before.ok || len(moved) == 0 && (signature == 0 || signature == found) {
		return
	}
	s.shared.warnChanged(before.obj, moved...)
	for i, t := range s.tables {
		b.setTable(i, t.repair(s.gen, number, before, after))
	}
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

// forget releases what sign keeps for changed.
func (b *Batch[T]) forget() {
	for _, t := range b.next.tables {
		t.forget()
	}
}

// watch leaves a write to the detection of mutations, which looks at it after Commit.
func (b *Batch[T]) watch(key types.NamespacedName, after entry[T]) {
	if d := b.next.shared.mutations; d != nil {
		d.pending = append(d.pending, write[T]{key, after})
	}
}

// sign calls all index functions for the new version of an object. It returns a hash of
// all its values in all indexes, and whether all functions have succeeded.
//
// An update after which the signature is the same changes no index. That saves calling
// the functions for the old version, which may have been modified and is probably not in
// the CPU caches any more, and looking it up in each index. The hash has 64 bits and a
// random seed: that different values have the same is as good as impossible. It is the sum of
// those of the indexes, each of which has a salt of its own: so changed can tell what it was
// from those indexes alone that it has looked at.
func (b *Batch[T]) sign(obj T) (signature uint64, sure bool) {
	sure = true
	for _, t := range b.next.tables {
		h, ok := t.evaluate(obj)
		signature += h
		sure = sure && ok
	}
	return signature, sure
}
