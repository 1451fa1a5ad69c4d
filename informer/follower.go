package informer

import (
	"sync/atomic"
	"time"

	"github.com/informerkit/informerkit/indexer"
	"github.com/informerkit/informerkit/internal/eventlog"
	"github.com/informerkit/informerkit/internal/object"
)

// follower walks along the event log on behalf of one handler and tells it what
// it meets. Its told view is what makes the promises hold: every event is a
// step from what the handler was told to what it is told now.
//
// advance is called by one goroutine at a time.
type follower[T Object] struct {
	cursor *cursor[T]
	empty  *indexer.Snapshot[T]
	// tell hands an event to the handler.
	tell func(Event[T])
	// resync is nil for a handler that wants none.
	resync *resyncer

	told    view[T]
	start   *view[T] // not nil: has joined here and has not been told of it yet
	dead    atomic.Bool
	synced  chan struct{}
	onSync  func()
	isSync  bool
	stats   followerStats
	tellsFn func(Event[T]) bool // f.tells, made once
}

// followerStats is what others may read while the follower works.
type followerStats struct {
	told     atomic.Uint64 // events
	leaps    atomic.Uint64 // catch-ups that began because the bound had been exceeded
	left     atomic.Int64  // records of the current run that are not done
	since    atomic.Int64  // when the current record was appended, or catching up began, Unix ns; 0: nothing to do
	catching atomic.Bool   // working through a difference of snapshots
}

func newFollower[T Object](empty *indexer.Snapshot[T], tell func(Event[T])) *follower[T] {
	f := &follower[T]{empty: empty, tell: tell, synced: make(chan struct{}), told: view[T]{snap: empty}}
	f.tellsFn = f.tells
	return f
}

// join puts the follower at the end of the log. It will first tell of the
// objects that are there, then of what is appended from now on.
func (f *follower[T]) join(log *eventLog[T], limit int, wake func()) bool {
	cursor, start, ok := log.Join(limit, wake)
	f.cursor, f.start = cursor, &start
	return ok
}

// tells hands an event over unless the follower has been told to stop. It
// reports whether to go on.
func (f *follower[T]) tells(e Event[T]) bool {
	if f.dead.Load() {
		return false
	}
	f.stats.told.Add(1)
	f.tell(e)
	return true
}

// advance does the next piece of work: one run of records, or one difference.
// It returns Parked if there is nothing to do, and Closed when it is over.
func (f *follower[T]) advance() eventlog.Status {
	if start := f.start; start != nil {
		f.start = nil
		f.catchUp(*start, InitialList)
		f.noteSync(start.synced) // now: the call for a change may wait for it
	}
	if f.resync != nil {
		f.tellResync(f.resync.due.Swap(0))
	}
	run, now, status := f.cursor.Next()
	switch status {
	case eventlog.Run:
		f.walk(run)
		f.told = now
	case eventlog.Detached:
		f.stats.leaps.Add(1)
		f.catchUp(now, CatchUp)
	case eventlog.Parked:
		f.told = now // a bookmark may have moved the resourceVersion
		f.stats.since.Store(0)
	}
	if f.dead.Load() {
		return eventlog.Closed
	}
	f.noteSync(f.told.synced)
	return status
}

// walk tells of each record of a run.
func (f *follower[T]) walk(run []record[T]) {
	var at int64
	for i := range run {
		r := &run[i]
		f.stats.left.Store(int64(len(run) - i))
		if r.at != at {
			at = r.at
			f.stats.since.Store(at)
		}
		if r.leap == nil {
			if !f.tells(r.event) {
				break
			}
			continue
		}
		f.stats.catching.Store(true)
		if !between(r.leap.from, r.leap.to, r.leap.origin, f.tellsFn) {
			break
		}
		f.stats.catching.Store(false)
		f.noteSync(r.leap.synced)
	}
	f.stats.left.Store(0)
}

// catchUp tells of the differences between what the handler was told and now.
func (f *follower[T]) catchUp(now view[T], origin Origin) {
	f.stats.catching.Store(true)
	defer f.stats.catching.Store(false)
	f.stats.since.CompareAndSwap(0, time.Now().UnixNano())
	if between(f.told.snap, now.snap, origin, f.tellsFn) {
		f.told = now
	}
}

// tellResync tells again of the objects in the given slices of the key space.
// Between runs the handler's view is a snapshot, so each object is in the very
// state that the handler was told last.
func (f *follower[T]) tellResync(due uint64) {
	if due == 0 || !f.isSync {
		return
	}
	for obj := range f.told.snap.All() {
		key := object.KeyOf(obj)
		if due&(1<<f.resync.slice(key)) == 0 {
			continue
		}
		if !f.tells(Event[T]{Type: Updated, Key: key, Old: obj, New: obj, Origin: Resync}) {
			return
		}
	}
}

// noteSync records that the handler has been told of the first list.
func (f *follower[T]) noteSync(synced bool) {
	if synced && !f.isSync && !f.dead.Load() {
		f.isSync = true
		close(f.synced)
		if f.onSync != nil {
			f.onSync()
		}
	}
}

// leave gives the cursor back. It must be called by the goroutine that advances,
// or when there is none.
func (f *follower[T]) leave() {
	f.dead.Store(true)
	f.cursor.Leave()
	f.cursor.Next() // lets go of a run that advance has in hand
	f.told, f.start = view[T]{snap: f.empty}, nil
}

// lag returns the number of records that wait for the handler.
func (f *follower[T]) lag() int {
	return f.cursor.Lag() + int(f.stats.left.Load())
}
