package informer

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/deltafifo"
	"github.com/informerkit/informerkit/indexer"
	"github.com/informerkit/informerkit/informer/internal/eventlog"
	"github.com/informerkit/informerkit/internal/object"
)

// applier turns the batches of changes of all sources into new snapshots of the
// cache and the events that lead to them. It is the second part of the way of an
// event: from a batch of changes to an entry of the event log.
//
//	                      ┌─▶ 1 store     a new snapshot: cache and all indexes
//	batch ──▶ applyOne ──▶├─▶ 2 log       the events between the two snapshots
//	                      └─▶ 3 progress  Synced, WaitFor…
//
// The order matters: who is woken by the log or by progress finds in the store
// what it was woken for.
//
// All sources share one applier. Its mutex makes the batches of the sources one
// sequence, so that store, log and progress change in the same order. Within an informer
// it is the outermost lock: those of the informer, of progress, of the log and of the store are
// taken with it held, never the other way round.
type applier[T Object] struct {
	store    *indexer.Indexer[T]
	events   *eventLog[T]
	progress *progress[T]

	observe func(at time.Time, e *Event[T]) // called with each event of a watch; may be nil

	mu      sync.Mutex // serialises the batches of the sources
	metrics Metrics    // guarded by mu; nil before Run and after it

	// The batch in progress, guarded by mu.
	batch   *indexer.Batch[T]
	records []record[T] // to be appended; the memory is used again if it is small
	began   time.Time
	now     int64 // the same; see clock
	counts  EventCounts
	heavy   bool // a difference updates or deletes, so its entry keeps old objects alive
}

// newApplier returns an applier for a store that nothing else writes to.
//
// The store must be filled before, as the log's first state is its present snapshot.
func newApplier[T Object](store *indexer.Indexer[T]) *applier[T] {
	return &applier[T]{
		store:    store,
		events:   eventlog.New[record[T]](view[T]{snap: store.Snapshot()}),
		progress: newProgress[T](),
	}
}

// applyAtOnce is how many changes make one snapshot and one batch of the log. A
// producer that is ahead would else make them as large as the queue, and a
// handler that stalls holds the batch that it is in.
// A chunk is also how long a source keeps the mutex from the others.
const applyAtOnce = 1024

// maxScratch is the number of records for which an applier keeps the memory.
// A list or a backlog would otherwise leave an applier with a large slice for good.
const maxScratch = 64

// apply applies what is pending of a source.
//
// It returns when all of them are published, so the queue counts them as pending until then.
func (a *applier[T]) apply(s *source[T], changes deltafifo.Deltas[T]) {
	for some := range slices.Chunk(changes, applyAtOnce) {
		a.change(func() {
			a.records = slices.Grow(a.records, len(some))
			for i := range some {
				a.applyOne(s, &some[i])
			}
		})
		for i := range some { // they are published
			switch c := &some[i]; c.Type {
			case deltafifo.Added, deltafifo.Updated, deltafifo.Deleted:
				s.unreadable.applyObject(c.Object)
			case deltafifo.Replaced:
				s.unreadable.applyList()
			}
		}
	}
}

// change makes one batch of what f applies, and publishes it. F is called with mu
// held.
func (a *applier[T]) change(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	// One clock read for all records of the batch: they become visible together.
	a.began, a.counts, a.heavy = time.Now(), EventCounts{}, false
	a.now = clock(a.began)
	a.batch = a.store.Batch()
	f()
	a.publishLocked()
	// With mu held: calls of Metrics are one at a time, and none comes after Close.
	if a.metrics != nil {
		a.metrics.Applied(a.counts, time.Since(a.began))
	}
}

// applyOne applies one change to the batch. Like all that it calls, it needs mu.
func (a *applier[T]) applyOne(s *source[T], c *deltafifo.Delta[T]) {
	switch c.Type {
	case deltafifo.Added, deltafifo.Updated:
		if a.keeps(s, c.Object) {
			a.set(s, c.Object)
		} else {
			a.delete(c.Object) // it may have moved there from what is selected
		}
		a.reach(s, c.Object.GetResourceVersion())
	case deltafifo.Deleted:
		a.delete(c.Object)
		a.reach(s, c.Object.GetResourceVersion())
	case deltafifo.Replaced:
		a.replace(s, c.List.Objects, c.List.ResourceVersion)
	case deltafifo.Bookmark:
		// A bookmark has no object: it only says that the server has sent everything
		// up to its version. Selective watches move on by it.
		a.reach(s, c.List.ResourceVersion)
	}
}

// set stores a state. Whether that is an Added or an Updated is decided by what
// is in the cache, not by what the server called it. A state that is there
// already is not an event.
func (a *applier[T]) set(s *source[T], obj T) {
	key := object.KeyOf(obj)
	old, known, err := a.batch.Set(obj)
	if err != nil {
		s.log.Warn("an object is not cached", "object", key, "error", err)
		return
	}
	// A watch without a resumable version replays existing objects as ADDED, for example.
	if known && object.SameVersion(old, obj) {
		// Same version as cached: undo. Cheaper than a Get before every Set,
		// because this is rare.
		_, _, _ = a.batch.Set(old)
		return
	}
	e := Event[T]{Key: key, New: obj, Origin: Watch}
	if !known {
		e.Type = Added
		a.add(e)
		return
	}
	// A new UID under a known key makes two events of this one.
	e.Old = old
	deliverUpdate(e, a.add)
}

// delete removes an object, of which last is the last state. For one that is not in
// the cache there is no event: no handler has seen it, or all have seen its deletion.
func (a *applier[T]) delete(last T) {
	key := object.KeyOf(last)
	old, known := a.batch.Delete(key)
	if !known {
		return
	}
	e := Event[T]{Type: Deleted, Key: key, Old: old, Origin: Watch}
	// Another UID: the deletion is of another object of that name, and says
	// nothing about the final state of this one.
	if last.GetUID() != old.GetUID() {
		e.FinalStateUnknown = true
	} else {
		e.New = last
	}
	a.add(e)
}

// replace makes the part of the cache that belongs to s equal to objs, the
// collection as of rv. Unchanged objects keep their place in the store, so that
// comparing the two snapshots costs as much as what has changed.
func (a *applier[T]) replace(s *source[T], objs []T, rv string) {
	if s.selected != nil {
		objs = slices.DeleteFunc(slices.Clone(objs), func(obj T) bool { return !a.keeps(s, obj) })
	}
	// What the batch has so far comes before the list. It is committed, so that the
	// difference of the snapshots is the effect of the list alone.
	from := a.commit()
	origin := Relist
	s.rv = rv // a list may go back: that of a server whose versions began again
	var done indexer.ReplaceResult
	var err error
	// A list says that what it does not have does not exist, but only within what it
	// covers: the objects of other namespaces belong to other sources.
	if s.namespace == "" {
		done, err = a.batch.Replace(objs)
	} else {
		done, err = a.batch.ReplaceNamespace(s.namespace, objs)
	}
	// The other objects are stored: one that cannot be indexed does not hold up a list.
	if err != nil {
		s.log.Warn("some objects of a list are not cached", "error", err)
	}
	a.counts.Lists++
	a.counts.Added += done.Added
	a.counts.Updated += done.Updated
	a.counts.Deleted += done.Deleted
	a.heavy = a.heavy || done.Updated+done.Deleted > 0

	// setListed comes before addDiff, which must see whether this completes the sync.
	before := a.progress.covered()
	to := a.commit()
	if a.progress.setListed(s) {
		origin = InitialList
	}
	a.addDiff(from, to, origin)
	// The first list of a source of a selection repeats what the source before it had.
	if origin == InitialList && s.selected != nil {
		a.records[len(a.records)-1].diff.relisted = before
	}
}

// keeps reports whether an object that s has delivered belongs to what s still reads.
func (a *applier[T]) keeps(s *source[T], obj T) bool {
	return s.selected == nil || a.progress.selection.Keeps(s.selected, obj)
}

// dropUnread removes the objects that no source will ever read, as no source would ever
// delete them. Handlers get one entry of the log, however many there were.
func (a *applier[T]) dropUnread() {
	from := a.commit()
	for obj := range from.All() {
		// Iterating over a snapshot while the batch deletes is safe: a snapshot never changes.
		if !a.progress.reads(obj) {
			a.batch.Delete(object.KeyOf(obj))
			a.counts.Deleted++
			a.heavy = true
		}
	}
	a.addDiff(from, a.commit(), PartRemoved)
}

// reach notes that the changes of s are applied up to rv. An API server sends
// the events of a watch in the order of their versions. A source that does not,
// or a deletion that could not be read and has the version before it, must not
// take the cache back: else the version of a snapshot would depend on where its
// batch happened to end.
func (a *applier[T]) reach(s *source[T], rv string) {
	if rv == "" || rv == s.rv {
		return
	}
	order, comparable := compareVersions(rv, s.rv)
	switch {
	case comparable && order < 0:
		// Not an error: the change itself was applied, only the version stays.
		return
	case !comparable && s.rv != "":
		// Each step counts, as what the batch adopts in the end depends on it.
		a.batch.SetResourceVersion(a.progress.version())
	}
	// s.rv is what is applied. It becomes reached, which waiters look at, with publish.
	s.rv = rv
}

// commit publishes a snapshot of what is applied so far, and begins another batch.
//
// A commit is visible to readers at once, before the log has the events.
func (a *applier[T]) commit() *indexer.Snapshot[T] {
	a.batch.SetResourceVersion(a.progress.version())
	snap := a.batch.Commit()
	a.batch = a.store.Batch()
	return snap
}

// add adds an event to what will be appended to the log. It returns true.
//
// It has the form of a deliver function, for deliverUpdate, and never stops it.
func (a *applier[T]) add(e Event[T]) bool {
	a.records = append(a.records, record[T]{event: e, at: a.now})
	if a.observe != nil {
		a.observe(a.began, &a.records[len(a.records)-1].event)
	}
	a.counts.count(e.Type)
	return true
}

// addDiff adds the difference of two snapshots to what will be appended.
//
// Synced is noted for the point after the list: a handler is synced when it gets there.
func (a *applier[T]) addDiff(from, to *indexer.Snapshot[T], origin Origin) {
	d := &listDiff[T]{from: from, to: view[T]{snap: to, synced: a.progress.synced(), covered: a.progress.covered()}, origin: origin}
	a.records = append(a.records, record[T]{diff: d, at: a.now})
}

// publishLocked makes the batch visible: to readers, to handlers, to waiters.
//
// The order is part of the contract: store, then log, then progress. See applier.
func (a *applier[T]) publishLocked() {
	a.batch.SetResourceVersion(a.progress.version())
	snap := a.batch.Commit()
	a.batch = nil
	now := view[T]{snap: snap, synced: a.progress.synced(), covered: a.progress.covered()}
	// An append without records wakes no handler. A list adds one, even if it is empty, but
	// an informer without namespaces is synced without a list.
	if now.synced && len(a.records) == 0 && !isClosed(a.progress.first) {
		a.addDiff(snap, snap, InitialList) // the handlers' sync is an entry, though without events
	}
	kept := a.events.Append(a.records, now, a.heavy)
	// Last: a waiter that this unblocks may read the cache at once.
	diffs := slices.ContainsFunc(a.records, func(r record[T]) bool { return r.diff != nil })
	first := a.progress.publish(now.synced, diffs, a.changed)
	// A kept slice belongs to the log, and handlers may be reading it already. A list may be
	// the last that an informer applies for long.
	if kept || cap(a.records) > maxScratch || a.counts.Lists > 0 {
		a.records = nil
	}
	clear(a.records) // they must not keep objects alive
	a.records = a.records[:0]
	if first && a.metrics != nil {
		a.metrics.Synced(a.progress.after)
	}
	// After all events were counted, for the call of Applied.
	a.counts.Objects = snap.Len()
}

// changed yields the key of each event of the batch, and the state that it leads to, if any.
func (a *applier[T]) changed(yield func(types.NamespacedName, T) bool) {
	for i := range a.records {
		if e := &a.records[i].event; a.records[i].diff == nil && !yield(e.Key, e.New) {
			return
		}
	}
}

// setSources changes which sources there are. Handlers that join from now on are
// synced when the first list of each of them is applied.
func (a *applier[T]) setSources(sources []*source[T]) {
	// The applier's mutex is held, or the informer is not in use yet. An append without
	// records only replaces the state, for handlers that join; it wakes none.
	a.progress.setSources(sources)
	now := view[T]{snap: a.store.Snapshot(), synced: a.progress.synced(), covered: a.progress.covered()}
	a.events.Append(nil, now, false)
	a.progress.publish(now.synced, true, func(func(types.NamespacedName, T) bool) {})
}

// start notes that Run was called. It returns false if it was called before.
func (a *applier[T]) start() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.progress.start()
}

// setMetrics replaces what gets the measurements, and returns what did before.
//
// With mu held no call of the old Metrics is under way when it returns, so the caller may
// close them.
func (a *applier[T]) setMetrics(m Metrics) Metrics {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.metrics
	a.metrics = m
	return before
}
