package prometheus

import (
	"strconv"
	"sync"
	"time"

	prom "github.com/prometheus/client_golang/prometheus"

	"github.com/informerkit/informerkit/informer"
)

// informers is the part of the collector that is about informers: what happens is
// counted as it happens, and how things are is read from the informers' health at
// each scrape.
type informers struct {
	names[*informerSeries]
	vectors
	events *prom.CounterVec
	lists  *prom.CounterVec
	took   *prom.HistogramVec
	levels informerLevels
}

// informerLevels are the series that are read from an [informer.Health].
type informerLevels struct {
	objects, version, synced, syncTook level
	ranges, unlisted                   level
	overdue, overdueTotal              level
	sourceLevels
	handlerLevels
}

// newInformers names everything about informers.
func newInformers() *informers {
	i := &informers{
		events: counterVec("informer_events_total", "Changes of the cache, by type; those found by a list included.", "type"),
		lists:  counterVec("informer_lists_total", "Results of lists that were applied to the cache, first or later."),
		took: histogramVec("informer_processing_latency_seconds", "How long it took to apply the changes taken out of the queue at once.",
			[]float64{.00001, .0001, .001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}),
		levels: informerLevels{
			objects:       gauge("informer_objects", "Objects in the cache."),
			version:       gauge("informer_store_resource_version", "How far the cache has got: the last 15 digits of its resourceVersion."),
			synced:        gauge("informer_synced", "1 if the first list is in the cache, else 0."),
			syncTook:      gauge("informer_sync_duration_seconds", "How long the first list took, from the start of the informer. There is no such series before."),
			ranges:        gauge("informer_ranges", "Ranges of hashes that the informer reads; 0 for one without ranges."),
			unlisted:      gauge("informer_unlisted_ranges", "How many of these are not in the cache yet."),
			overdue:       gauge("informer_overdue_writes", "Writes of this program that the cache has lacked for more than a minute, and for which a reconcile waits."),
			overdueTotal:  total("informer_overdue_writes_total", "Writes that took longer than a minute to get to the cache."),
			sourceLevels:  newSourceLevels(),
			handlerLevels: newHandlerLevels(),
		},
	}
	i.vectors = vectors{i.events, i.lists, i.took}
	return i
}

// describe implements part.
func (i *informers) describe(ch chan<- *prom.Desc) {
	i.vectors.describe(ch)
	l := &i.levels
	for _, l := range []level{l.objects, l.version, l.synced, l.syncTook, l.ranges, l.unlisted, l.overdue, l.overdueTotal} {
		ch <- l.desc
	}
	l.sourceLevels.describe(ch)
	l.handlerLevels.describe(ch)
}

// collect implements part. It asks the informers for their health without the mutex of
// the names, as an informer may end meanwhile, which takes that mutex.
func (i *informers) collect(ch chan<- prom.Metric) {
	i.vectors.collect(ch)
	now := time.Now()
	for _, s := range i.all() {
		i.levels.read(reading{ch, s.name}, s.health(), now)
	}
}

// read sends the levels of one informer. What is not known yet has no series: 0 would
// be a value.
func (l *informerLevels) read(r reading, h informer.Health, now time.Time) {
	r.send(l.objects, float64(h.Objects))
	if version, ok := lastDigits(h.ResourceVersion); ok {
		r.send(l.version, version)
	}
	r.send(l.synced, one(h.Synced))
	if h.Synced {
		r.send(l.syncTook, h.SyncedAfter.Seconds())
	}
	unlisted := 0
	for _, one := range h.Parts {
		if !one.Synced {
			unlisted++
		}
	}
	r.send(l.ranges, float64(len(h.Parts)))
	r.send(l.unlisted, float64(unlisted))
	r.send(l.overdue, float64(h.OverdueWrites))
	r.send(l.overdueTotal, float64(h.OverdueTotal))
	for _, s := range h.Sources {
		l.readSource(r, s, now)
	}
	l.readHandlers(r, h.Handlers)
}

// lastDigits returns the last 15 digits of a resourceVersion, which is as many as
// a float64 can always represent, if it is a number.
func lastDigits(resourceVersion string) (float64, bool) {
	const digits = 15
	if n := len(resourceVersion); n > digits {
		if _, ok := lastDigits(resourceVersion[:n-digits]); !ok {
			return 0, false
		}
		resourceVersion = resourceVersion[n-digits:]
	}
	v, err := strconv.ParseUint(resourceVersion, 10, 64)
	return float64(v), err == nil
}

// addInformer begins the series of an informer. The counters of each type are looked up
// once, here, rather than for each batch.
func (i *informers) addInformer(name string, health func() informer.Health) *informerSeries {
	return i.addNumbered(name, func(name string) *informerSeries {
		return &informerSeries{
			name:    name,
			health:  health,
			added:   i.events.WithLabelValues(name, "added"),
			updated: i.events.WithLabelValues(name, "updated"),
			deleted: i.events.WithLabelValues(name, "deleted"),
			lists:   i.lists.WithLabelValues(name),
			took:    i.took.WithLabelValues(name),
			end:     sync.OnceFunc(func() { i.remove(name, func() { i.vectors.end(name) }) }),
		}
	})
}

// informerSeries records what happens in one informer.
type informerSeries struct {
	name                           string
	health                         func() informer.Health
	added, updated, deleted, lists prom.Counter
	took                           prom.Observer
	end                            func()
}

// Applied implements [informer.Metrics].
func (s *informerSeries) Applied(c informer.EventCounts, took time.Duration) {
	s.added.Add(float64(c.Added))
	s.updated.Add(float64(c.Updated))
	s.deleted.Add(float64(c.Deleted))
	s.lists.Add(float64(c.Lists))
	s.took.Observe(took.Seconds())
}

// Synced implements [informer.Metrics]; the health says it as well.
func (s *informerSeries) Synced(time.Duration) {}

// Close implements [informer.Metrics].
func (s *informerSeries) Close() { s.end() }
