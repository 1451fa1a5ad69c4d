package informer

import (
	"slices"
	"time"

	"github.com/informerkit/informerkit/deltafifo"
	"github.com/informerkit/informerkit/indexer"
	"github.com/informerkit/informerkit/internal/object"
)

// applier turns batches of deltas into a new snapshot and the events that lead
// to it. It is guarded by the informer's applying mutex.
type applier[T Object] struct {
	inf     *Informer[T]
	batch   *indexer.Batch[T]
	records []record[T] // of the batch in progress; used again if there are few
	now     int64
	counts  EventCounts
}

// applyAtOnce is how many changes make one snapshot and one batch of the log. A
// producer that is ahead would else make them as large as the queue, and a
// handler that stalls holds the batch that it is being told of.
const applyAtOnce = 1024

// apply applies what is pending of a source: first the cache, with all its indexes,
// then the log, so that a handler finds in the cache what it is told of.
func (inf *Informer[T]) apply(s *source[T], deltas []deltafifo.Delta[T]) {
	for some := range slices.Chunk(deltas, applyAtOnce) {
		inf.change(func(a *applier[T]) {
			a.records = slices.Grow(a.records, len(some))
			for i := range some {
				a.one(s, &some[i])
			}
		})
	}
}

// change makes one batch of changes, of which f applies each.
func (inf *Informer[T]) change(f func(a *applier[T])) {
	inf.applying.Lock()
	defer inf.applying.Unlock()
	begin := time.Now()
	a := &inf.applier
	a.now, a.counts = begin.UnixNano(), EventCounts{}
	a.batch = inf.store.Batch()
	f(a)
	a.publish()
	if m := inf.metrics; m != nil {
		m.Applied(a.counts, time.Since(begin))
	}
}

func (a *applier[T]) one(s *source[T], d *deltafifo.Delta[T]) {
	switch d.Type {
	case deltafifo.Added, deltafifo.Updated:
		a.set(s, d.Object)
		a.reach(s, d.Object.GetResourceVersion())
	case deltafifo.Deleted:
		a.delete(d)
		a.reach(s, d.Object.GetResourceVersion())
	case deltafifo.Replaced:
		a.replace(s, d.Objects, d.ResourceVersion)
	case deltafifo.Bookmark:
		a.reach(s, d.ResourceVersion)
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
	if known && object.SameVersion(old, obj) {
		// It is rare enough to put the old one back, rather than look each time.
		_, _, _ = a.batch.Set(old)
		return
	}
	e := Event[T]{Key: key, New: obj, Origin: Watch}
	if !known {
		e.Type = Added
		a.add(e)
		return
	}
	e.Old = old
	tellUpdate(e, a.add)
}

// delete removes an object. One that is not in the cache has never been told of,
// or is known to be gone, so there is no event.
func (a *applier[T]) delete(d *deltafifo.Delta[T]) {
	old, known := a.batch.Delete(d.Key)
	if !known {
		return
	}
	e := Event[T]{Type: Deleted, Key: d.Key, Old: old, Origin: Watch}
	if d.Object.GetUID() != old.GetUID() {
		e.FinalStateUnknown = true
	} else {
		e.New = d.Object
	}
	a.add(e)
}

// replace makes the part of the cache that belongs to s equal to objs, the
// collection as of rv. What has not changed keeps its place, so the two snapshots
// differ only in what has.
func (a *applier[T]) replace(s *source[T], objs []T, rv string) {
	from := a.commit()
	s.rv = rv // a list may go back: that of a server whose versions began again
	var done indexer.ReplaceResult
	var err error
	if s.namespace == "" {
		done, err = a.batch.Replace(objs)
	} else {
		done, err = a.batch.ReplaceNamespace(s.namespace, objs)
	}
	if err != nil {
		s.log.Warn("some objects of a list are not cached", "error", err)
	}
	a.counts.Lists++
	a.counts.Added += done.Added
	a.counts.Updated += done.Updated
	a.counts.Deleted += done.Deleted

	origin := Relist
	if !s.listed {
		s.listed, origin = true, InitialList
	}
	l := &leap[T]{from: from, to: a.commit(), origin: origin, synced: a.inf.allListed()}
	a.records = append(a.records, record[T]{leap: l, at: a.now})
}

// dropUnread removes the objects of namespaces that have no source: no list would
// ever do so.
func (a *applier[T]) dropUnread() {
	read := map[string]bool{}
	for _, s := range a.inf.sources {
		read[s.namespace] = true
	}
	from := a.commit()
	for obj := range from.All() {
		if key := object.KeyOf(obj); !read[key.Namespace] {
			a.batch.Delete(key)
			a.counts.Deleted++
		}
	}
	l := &leap[T]{from: from, to: a.commit(), origin: InitialList, synced: a.inf.allListed()}
	a.records = append(a.records, record[T]{leap: l, at: a.now})
}

// commit makes a snapshot of what is applied so far, and goes on.
func (a *applier[T]) commit() *indexer.Snapshot[T] {
	a.batch.SetResourceVersion(a.inf.resourceVersion())
	snap := a.batch.Commit()
	a.batch = a.inf.store.Batch()
	return snap
}

func (a *applier[T]) add(e Event[T]) bool {
	a.records = append(a.records, record[T]{event: e, at: a.now})
	a.counts.count(e.Type)
	return true
}

// publish makes the batch visible: to readers, to waiters, to handlers.
func (a *applier[T]) publish() {
	inf := a.inf
	a.batch.SetResourceVersion(inf.resourceVersion())
	snap := a.batch.Commit()
	a.batch = nil
	synced := inf.allListed()
	if synced && len(a.records) == 0 && !inf.HasSynced() { // nothing to tell, but that
		a.records = append(a.records, record[T]{leap: &leap[T]{from: snap, to: snap, origin: InitialList, synced: true}, at: a.now})
	}
	if inf.events.Append(a.records, view[T]{snap: snap, synced: synced}) || cap(a.records) > maxScratch {
		a.records = nil
	}
	clear(a.records) // it must not keep objects alive
	a.records = a.records[:0]
	if synced {
		inf.noteSync()
	}
	inf.progress.publish(inf.sources, synced)
	a.counts.Objects = snap.Len()
}

// maxScratch is the number of records for which an applier keeps the memory.
const maxScratch = 64
