package informer

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Health returns the state of the informer, of what feeds it, and of its handlers.
func (inf *Informer[T]) Health() Health {
	snap := inf.Snapshot()
	h := Health{
		Name:            inf.name,
		Synced:          inf.HasSynced(),
		Stopped:         isClosed(inf.progress.stopped),
		Objects:         snap.Len(),
		ResourceVersion: snap.ResourceVersion(),
		Events:          inf.events.End(),
	}
	// The locks are taken one after the other, never together: the parts may be of slightly
	// different moments, but a scrape cannot deadlock with the informer.
	inf.progress.mu.Lock()
	h.SyncedAfter = inf.progress.after
	sources := inf.progress.sources
	inf.progress.mu.Unlock()
	for _, s := range sources {
		h.Sources = append(h.Sources, SourceHealth{
			Namespace: s.namespace, Queued: s.queue.Len(), Reflector: s.reflector.Health(),
		})
	}
	inf.mu.Lock()
	handlers := slices.Collect(maps.Keys(inf.handlers))
	inf.mu.Unlock()

	now := time.Now()
	for _, r := range handlers {
		h.Handlers = append(h.Handlers, r.health(now))
	}
	slices.SortFunc(h.Handlers, func(a, b HandlerHealth) int { return cmp.Compare(a.Name, b.Name) })
	return h
}
