package informer

import (
	"github.com/informerkit/informerkit/indexer"
	"github.com/informerkit/informerkit/internal/eventlog"
	"github.com/informerkit/informerkit/internal/object"
)

// record is an entry of the event log: an event or, if leap is set, many.
type record[T Object] struct {
	event Event[T]
	leap  *leap[T]
	at    int64 // when it was appended, in Unix nanoseconds
}

// leap is the result of a list as an entry of the log: from one snapshot to
// another. Each handler works out the events by itself when it gets there, in
// time proportional to what has changed, so that a list of any size is one entry.
type leap[T Object] struct {
	from, to *indexer.Snapshot[T]
	origin   Origin
	synced   bool // all sources have listed
}

// view is what a handler has been told of, at some point of the log: all objects
// of a snapshot, in the state that they have there.
type view[T Object] struct {
	snap *indexer.Snapshot[T]
	// synced is whether the first list is part of it, that of each source.
	synced bool
}

type (
	eventLog[T Object] = eventlog.Log[record[T], view[T]]
	cursor[T Object]   = eventlog.Cursor[record[T], view[T]]
)

// between calls tell with the events that lead from one snapshot to the other.
// It stops and returns false as soon as tell does.
func between[T Object](from, to *indexer.Snapshot[T], origin Origin, tell func(Event[T]) bool) bool {
	if from == to {
		return true
	}
	for c := range indexer.Diff(from, to) {
		e := Event[T]{Key: c.Key, Old: c.Old, New: c.New, Origin: origin}
		switch c.Type {
		case indexer.Added:
			e.Type = Added
		case indexer.Deleted:
			e.Type, e.FinalStateUnknown = Deleted, true
		case indexer.Updated:
			if object.SameVersion(c.Old, c.New) {
				continue
			}
			if !tellUpdate(e, tell) {
				return false
			}
			continue
		}
		if !tell(e) {
			return false
		}
	}
	return true
}

// tellUpdate tells of a new state under a known key. Another UID means another
// object: the one that was there is gone, and nobody saw how it ended.
func tellUpdate[T Object](e Event[T], tell func(Event[T]) bool) bool {
	if e.Old.GetUID() == e.New.GetUID() {
		e.Type = Updated
		return tell(e)
	}
	gone, came := e, e
	var none T
	gone.Type, gone.New, gone.FinalStateUnknown = Deleted, none, true
	came.Type, came.Old = Added, none
	return tell(gone) && tell(came)
}
