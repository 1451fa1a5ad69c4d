package informer

import (
	"time"

	"github.com/informerkit/informerkit/indexer"
	"github.com/informerkit/informerkit/informer/internal/eventlog"
	"github.com/informerkit/informerkit/internal/object"
)

// record is an entry of the event log: one event or, if diff is set, many.
type record[T Object] struct {
	event Event[T]
	diff  *listDiff[T]
	at    int64 // when it was appended; see clock
}

// epoch is what moments are counted from.
var epoch = time.Now()

// clock returns a moment in nanoseconds from epoch, by the monotonic clock: a step of the wall
// clock must not make a handler look stalled.
func clock(t time.Time) int64 { return int64(t.Sub(epoch)) }

// listDiff is the result of a list as an entry of the log: from one snapshot to
// another. Each handler works out the events by itself when it gets there, in
// time proportional to what has changed, so that a list of any size is one entry.
type listDiff[T Object] struct {
	from   *indexer.Snapshot[T]
	to     view[T]
	origin Origin
	// relisted is what was part of the cache before, if that is not all of what was listed:
	// for its objects the origin is Relist. Nil is nothing.
	relisted coverage
}

// view is a state of the cache, published at some point of the log. A handler
// that has got there has seen each of the objects in the state that it has there.
type view[T Object] struct {
	snap *indexer.Snapshot[T] // nil, before a handler has seen anything: no objects
	// synced is progress.synced at that point.
	synced bool
	// covered is what the snapshot has of the collection; nil is all of it.
	covered coverage
}

type (
	eventLog[T Object] = eventlog.Log[record[T], view[T]]
	position[T Object] = eventlog.Cursor[record[T], view[T]]
)

// difference delivers the events that lead from one snapshot to the other, in any
// order across objects. It stops and returns false as soon as deliver does.
//
// Whether an object that is gone was deleted, or is not read any more, follows from what
// the later state covers, however many changes the difference stands for.
func difference[T Object](from *indexer.Snapshot[T], to view[T], origin Origin, deliver func(Event[T]) bool) bool {
	switch from {
	case to.snap:
		return true
	case nil:
		for obj := range to.snap.All() {
			if !deliver(Event[T]{Type: Added, Key: object.KeyOf(obj), New: obj, Origin: origin}) {
				return false
			}
		}
		return true
	}
	for c := range indexer.Diff(from, to.snap) {
		e := Event[T]{Type: c.Type, Key: c.Key, Old: c.Old, New: c.New, Origin: origin}
		switch c.Type {
		case Deleted:
			// Two snapshots show that an object is gone, not what it was in the end.
			e.FinalStateUnknown = true
			if !to.covered.holds(c.Old) {
				e.Origin = PartRemoved
			}
		case Updated:
			// A new copy of the same state, as a list makes them.
			if object.SameVersion(c.Old, c.New) {
				continue
			}
			if !deliverUpdate(e, deliver) {
				return false
			}
			continue
		}
		if !deliver(e) {
			return false
		}
	}
	return true
}

// deliver delivers the events of a list.
func (d *listDiff[T]) deliver(deliver func(Event[T]) bool) bool {
	if d.relisted == nil {
		return difference(d.from, d.to, d.origin, deliver)
	}
	return difference(d.from, d.to, d.origin, func(e Event[T]) bool {
		if e.Origin == d.origin && d.relisted.holds(e.Object()) {
			e.Origin = Relist
		}
		return deliver(e)
	})
}

// deliverUpdate delivers a new state under a known key. Another UID means another
// object: the old one is gone, and its final state is unknown.
func deliverUpdate[T Object](e Event[T], deliver func(Event[T]) bool) bool {
	if e.Old.GetUID() == e.New.GetUID() {
		e.Type = Updated
		return deliver(e)
	}
	deleted, added := e, e
	var none T
	deleted.Type, deleted.New, deleted.FinalStateUnknown = Deleted, none, true
	added.Type, added.Old = Added, none
	// In this order: a handler must not have two objects under one key.
	return deliver(deleted) && deliver(added)
}
