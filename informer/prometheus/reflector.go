package prometheus

import (
	"sync"
	"time"

	prom "github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/informerkit/informerkit/reflector"
)

var _ reflector.Metrics = (*Reflector)(nil)

// reflectors is the part of the collector that is about reflectors.
type reflectors struct {
	names[*Reflector]
	vectors
	lists, watches, events, quarantined    *prom.CounterVec
	listTook, listSize, watchTook, watched *prom.HistogramVec
	state                                  *prom.GaugeVec
}

// newReflectors names everything about reflectors.
func newReflectors() *reflectors {
	sizes := prom.ExponentialBuckets(1, 10, 7)
	r := &reflectors{
		lists:     counterVec("reflector_lists_total", "Attempts to read the collection as a whole, by how they ended.", "result"),
		listTook:  histogramVec("reflector_list_duration_seconds", "How long it took to read the collection as a whole, if that succeeded.", []float64{.001, .005, .01, .05, .1, .5, 1, 5, 10, 30, 60}),
		listSize:  histogramVec("reflector_items_per_list", "Objects in the collection when it was read as a whole.", sizes),
		watches:   counterVec("reflector_watches_total", "Watches that have ended or could not be started, by the reason.", "result"),
		watchTook: histogramVec("reflector_watch_duration_seconds", "How long watches lasted.", []float64{.1, 1, 10, 30, 60, 120, 300, 600, 1200}),
		watched:   histogramVec("reflector_items_per_watch", "Events in a watch.", sizes),
		events:    counterVec("reflector_events_total", "Events that were received, by type; bookmarks are events.", "type"),
		quarantined: counterVec("reflector_quarantined_objects_total",
			"Objects that could not be decoded or transformed, by which of the two.", "reason"),
		state: prom.NewGaugeVec(prom.GaugeOpts{
			Name: "reflector_state", Help: "1 for the state that the reflector is in, 0 for others that it has been in.",
		}, []string{"name", "state"}),
	}
	r.vectors = vectors{r.lists, r.listTook, r.listSize, r.watches, r.watchTook, r.watched, r.events, r.quarantined, r.state}
	return r
}

// addReflector begins the series of a reflector, or fails if the name is taken.
func (r *reflectors) addReflector(name string) (*Reflector, error) {
	return r.add("reflector", name, func() *Reflector {
		labels := prom.Labels{"name": name}
		return &Reflector{
			lists:       r.lists.MustCurryWith(labels),
			watches:     r.watches.MustCurryWith(labels),
			events:      r.events.MustCurryWith(labels),
			quarantined: r.quarantined.MustCurryWith(labels),
			state:       r.state.MustCurryWith(labels),
			listTook:    r.listTook.With(labels),
			listSize:    r.listSize.With(labels),
			watchTook:   r.watchTook.With(labels),
			watched:     r.watched.With(labels),
			end:         func() { r.remove(name, func() { r.vectors.end(name) }) },
		}
	})
}

// Reflector is the [reflector.Metrics] of one reflector, or of all those of an
// informer. Make one with [Provider.Reflector] and give it to the reflector's
// options.
type Reflector struct {
	mu                                     sync.Mutex
	closed                                 bool
	lists, watches, events, quarantined    *prom.CounterVec
	listTook, listSize, watchTook, watched prom.Observer
	state                                  *prom.GaugeVec
	end                                    func()
}

// Close ends the series, usually when the reflector has stopped. What is
// recorded later is not seen. It may be called more than once.
func (r *Reflector) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.closed = true
		r.end()
	}
}

// record calls f unless the series have ended: a label that is new would make
// them begin again.
func (r *Reflector) record(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		f()
	}
}

// Listed implements [reflector.Metrics].
func (r *Reflector) Listed(took time.Duration, objects int, class reflector.ErrorClass) {
	r.record(func() {
		r.lists.WithLabelValues(result(class)).Inc()
		if class == "" {
			r.listTook.Observe(took.Seconds())
			r.listSize.Observe(float64(objects))
		}
	})
}

// Watched implements [reflector.Metrics].
func (r *Reflector) Watched(took time.Duration, events int, class reflector.ErrorClass) {
	r.record(func() {
		r.watches.WithLabelValues(result(class)).Inc()
		r.watchTook.Observe(took.Seconds())
		r.watched.Observe(float64(events))
	})
}

// Received implements [reflector.Metrics].
func (r *Reflector) Received(typ watch.EventType) {
	r.record(func() { r.events.WithLabelValues(eventType(typ)).Inc() })
}

// Quarantined implements [reflector.Metrics].
func (r *Reflector) Quarantined(class reflector.ErrorClass) {
	r.record(func() { r.quarantined.WithLabelValues(string(class)).Inc() })
}

// StateChanged implements [reflector.Metrics].
func (r *Reflector) StateChanged(from, to reflector.State) {
	r.record(func() {
		if from != reflector.StateNew { // which is not reported
			r.state.WithLabelValues(string(from)).Dec()
		}
		r.state.WithLabelValues(string(to)).Inc()
	})
}

// eventType is the label for the type of an event. What is none of the protocol's types is
// text of a server, of which there may be any number: "unknown" stands for all of them.
func eventType(typ watch.EventType) string {
	switch typ {
	case watch.Added:
		return "added"
	case watch.Modified:
		return "modified"
	case watch.Deleted:
		return "deleted"
	case watch.Bookmark:
		return "bookmark"
	case watch.Error:
		return "error"
	}
	return "unknown"
}

// result is how something ended: with success, or an error of this class.
func result(class reflector.ErrorClass) string {
	if class == "" {
		return "success"
	}
	return string(class)
}
