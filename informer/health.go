package informer

import (
	"cmp"
	"slices"
	"time"

	"github.com/informerkit/informerkit/reflector"
)

// Health is what an informer can say about itself at one moment.
type Health struct {
	// Name is the informer's.
	Name string
	// Synced is whether the first list is in the cache, and SyncedAfter how long
	// after the call of Run that was.
	Synced      bool
	SyncedAfter time.Duration
	// Stopped is whether nothing will change any more.
	Stopped bool
	// Objects is the number of objects in the cache, and ResourceVersion how far
	// it has got.
	Objects         int
	ResourceVersion string
	// Events is the number of entries that were ever put into the event log; the
	// result of a list counts as one.
	Events uint64
	// Sources has one entry, or one per namespace.
	Sources []SourceHealth
	// Handlers has one entry per registration, ordered by name.
	Handlers []HandlerHealth
}

// SourceHealth describes what feeds the cache.
type SourceHealth struct {
	// Namespace is that of the source if the informer has several.
	Namespace string
	// Queued is the number of changes that wait to be applied.
	Queued int
	// Reflector says what the reflector does, and what went wrong last.
	Reflector reflector.Health
}

// HandlerHealth describes one registration.
type HandlerHealth struct {
	// Name is that of the registration.
	Name string
	// Synced is whether it has been told of the first objects.
	Synced bool
	// Lag is the number of entries of the log that wait for it; what it is being
	// told at the moment is included. LagAge is how long the oldest of those has
	// been waiting, as of when it was looked at last, or for how long the handler
	// has been catching up; 0 if it has nothing to do.
	Lag    int
	LagAge time.Duration
	// CatchingUp is whether it is being told of a difference of snapshots: at
	// first, after a list, or after an overflow.
	CatchingUp bool
	// Told counts the events that were delivered to it, and Panics those that
	// OnPanic was called for. Overflows counts how many times it has had to catch
	// up because it was beyond its bound. A handler that is beyond it is counted
	// when it returns from the events at hand, however often it was passed until
	// then; one that stalls for ever is not counted, and shows in LagAge.
	Told, Overflows, Panics uint64
}

// Health returns the state of the informer, of what feeds it, and of its handlers.
func (inf *Informer[T]) Health() Health {
	snap := inf.Snapshot()
	h := Health{
		Name:            inf.name,
		Synced:          inf.HasSynced(),
		Stopped:         isClosed(inf.stopped),
		Objects:         snap.Len(),
		ResourceVersion: snap.ResourceVersion(),
		Events:          inf.events.End(),
	}
	inf.mu.Lock()
	h.SyncedAfter = inf.syncAfter
	for _, s := range inf.sources {
		h.Sources = append(h.Sources, SourceHealth{
			Namespace: s.namespace, Queued: s.queue.Len(), Reflector: s.reflector.Health(),
		})
	}
	handlers := make([]*delivery[T], 0, len(inf.handlers))
	for d := range inf.handlers {
		handlers = append(handlers, d)
	}
	inf.mu.Unlock()

	now := time.Now()
	for _, d := range handlers {
		h.Handlers = append(h.Handlers, d.health(now))
	}
	slices.SortFunc(h.Handlers, func(a, b HandlerHealth) int { return cmp.Compare(a.Name, b.Name) })
	return h
}
