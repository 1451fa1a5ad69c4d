package prometheus

import (
	"maps"
	"slices"

	prom "github.com/prometheus/client_golang/prometheus"

	"github.com/informerkit/informerkit/informer"
)

// handlerLevels are about the handlers of an informer, which need not have names
// of their own: equal ones count as one handler.
type handlerLevels struct {
	handlerSynced, lag, lagAge, catchingUp, delivered, overflows, panics level
}

// newHandlerLevels names the levels of a handler.
func newHandlerLevels() handlerLevels {
	return handlerLevels{
		handlerSynced: gauge("informer_handler_synced", "1 if the first objects were delivered to the handler, else 0.", "handler"),
		lag:           gauge("informer_handler_lag_events", "Events that wait for the handler; the result of a list counts as one.", "handler"),
		lagAge:        gauge("informer_handler_lag_seconds", "How long the oldest event has been waiting for the handler, or the handler has been catching up; 0 if it has nothing to do.", "handler"),
		catchingUp:    gauge("informer_handler_catching_up", "1 if a difference of snapshots is being delivered to the handler, else 0: at first, after a list, or after an overflow.", "handler"),
		delivered:     total("informer_handler_events_total", "Events that were delivered to the handler.", "handler"),
		overflows:     total("informer_handler_overflows_total", "How many times the handler was beyond its bound and had to catch up.", "handler"),
		panics:        total("informer_handler_panics_total", "Panics of the handler that it goes on after.", "handler"),
	}
}

// describe sends the descriptions of all levels of a handler.
func (l *handlerLevels) describe(ch chan<- *prom.Desc) {
	for _, l := range []level{l.handlerSynced, l.lag, l.lagAge, l.catchingUp, l.delivered, l.overflows, l.panics} {
		ch <- l.desc
	}
}

// readHandlers sends the levels of all handlers of an informer, once for each name: a
// registry refuses a series that is sent twice.
func (l *handlerLevels) readHandlers(r reading, handlers []informer.HandlerHealth) {
	for _, h := range merge(handlers) {
		r.send(l.handlerSynced, one(h.Synced), h.Name)
		r.send(l.lag, float64(h.Lag), h.Name)
		r.send(l.lagAge, max(0, h.LagAge.Seconds()), h.Name)
		r.send(l.catchingUp, one(h.CatchingUp), h.Name)
		r.send(l.delivered, float64(h.Delivered), h.Name)
		r.send(l.overflows, float64(h.Overflows), h.Name)
		r.send(l.panics, float64(h.Panics), h.Name)
	}
}

// merge makes one of handlers that have the same name: their counts are added
// up, the oldest event is that of all, and they are synced if all of them are.
func merge(handlers []informer.HandlerHealth) []informer.HandlerHealth {
	byName := map[string]informer.HandlerHealth{}
	for _, h := range handlers {
		h.Name = clean(h.Name)
		if other, ok := byName[h.Name]; ok {
			h.Synced = h.Synced && other.Synced
			h.Lag += other.Lag
			h.LagAge = max(h.LagAge, other.LagAge)
			h.CatchingUp = h.CatchingUp || other.CatchingUp
			h.Delivered += other.Delivered
			h.Overflows += other.Overflows
			h.Panics += other.Panics
		}
		byName[h.Name] = h
	}
	return slices.Collect(maps.Values(byName))
}
