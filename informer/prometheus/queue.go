package prometheus

import (
	"strconv"
	"sync"
	"time"

	prom "github.com/prometheus/client_golang/prometheus"

	"github.com/informerkit/informerkit/workqueue"
)

var _ workqueue.Metrics = (*queueSeries)(nil)

// queues is the part of the collector that is about queues, under the names that
// Kubernetes' own components use.
type queues struct {
	names[*queueSeries]
	vectors
	adds, retries                         *prom.CounterVec
	waited, worked                        *prom.HistogramVec
	depth, unfinished, longest            level
	running, delayed, parked, failing     level
	dropped, panics, timeouts, losses     level
	classDepth, classOldest, classMaxWait level
}

// newQueues names everything about queues.
func newQueues() *queues {
	// From 10ns to 10s, as everywhere: dashboards may rely on the bounds.
	buckets := prom.ExponentialBuckets(1e-8, 10, 10)
	q := &queues{
		adds:    counterVec("workqueue_adds_total", "Requests to process an item; an item that is queued already is not requested again."),
		retries: counterVec("workqueue_retries_total", "Items that were added with a rate limit."),
		waited:  histogramVec("workqueue_queue_duration_seconds", "How long items waited from being added until they were handed out.", buckets),
		worked:  histogramVec("workqueue_work_duration_seconds", "How long it took from items being handed out until they were done.", buckets),

		depth:      gauge("workqueue_depth", "Items that wait to be handed out."),
		unfinished: gauge("workqueue_unfinished_work_seconds", "How long the items in progress have been worked on, added up. It grows by one per second for each worker that is stuck."),
		longest:    gauge("workqueue_longest_running_processor_seconds", "How long the item that was handed out first of those in progress has been worked on."),

		running: gauge("workqueue_running", "Items that are handed out and not done."),
		delayed: gauge("workqueue_delayed", "Items that wait for their delay to end: retries, and requeues after a time."),
		failing: gauge("workqueue_failing", "Items that were added with a rate limit and have not succeeded since: they failed last time and are tried again."),
		parked:  gauge("workqueue_parked", "Items that are held back until a condition is met, such as a cache having seen a write."),

		dropped:  total("workqueue_dropped_total", "Items that were dropped after a failure and are not retried."),
		panics:   total("workqueue_panics_total", "Panics of the function that were recovered; each is a failure of its item."),
		timeouts: total("workqueue_park_timeouts_total", "Items that were parked for as long as permitted, without their condition being met."),
		losses:   total("workqueue_shutdown_losses_total", "Requests that were lost to the shutdown of the queue."),
	}
	q.classDepth = gauge("workqueue_class_depth", "Items of a priority class that wait to be handed out. Class 0 is the most urgent, and the only one of a queue without classes.", "class")
	q.classOldest = gauge("workqueue_class_oldest_seconds", "How long the item of a priority class that was added first has waited; 0 if none waits.", "class")
	q.classMaxWait = gauge("workqueue_class_max_wait_seconds", "How long an item of a priority class waits before the class is overdue, and gets every fourth turn. Class 0 has none.", "class")
	q.vectors = vectors{q.adds, q.retries, q.waited, q.worked}
	return q
}

// describe implements part.
func (q *queues) describe(ch chan<- *prom.Desc) {
	q.vectors.describe(ch)
	for _, l := range []level{
		q.depth, q.unfinished, q.longest, q.running, q.delayed, q.parked, q.failing, q.dropped, q.panics, q.timeouts, q.losses,
		q.classDepth, q.classOldest, q.classMaxWait,
	} {
		ch <- l.desc
	}
}

// collect implements part. Stats takes the lock of the queue for constant time; the
// mutex of the names is not held meanwhile.
func (q *queues) collect(ch chan<- prom.Metric) {
	q.vectors.collect(ch)
	for _, queue := range q.all() {
		// Before the figures: what a shutdown has lost is in the last ones.
		over := queue.shutDown()
		stats := queue.source.Stats()
		r := reading{ch, queue.name}
		r.send(q.depth, float64(stats.Queued+stats.Again))
		r.send(q.unfinished, stats.UnfinishedWork.Seconds())
		r.send(q.longest, stats.LongestRunning.Seconds())
		r.send(q.running, float64(stats.Running))
		r.send(q.delayed, float64(stats.Delayed))
		r.send(q.parked, float64(stats.Parked))
		r.send(q.failing, float64(stats.Failing))
		r.send(q.dropped, float64(stats.Dropped))
		r.send(q.panics, float64(stats.Panics))
		r.send(q.timeouts, float64(stats.ParkTimeouts))
		r.send(q.losses, float64(stats.ShutdownLosses))
		if c, ok := queue.source.(classer); ok {
			q.collectClasses(r, c.PriorityClasses(), time.Now())
		}
		if over && stats.Queued == 0 && stats.Running == 0 {
			queue.end()
		}
	}
}

// collectClasses sends the levels of the priority classes, of which a queue has few.
func (q *queues) collectClasses(r reading, classes []workqueue.PriorityClassInspection, now time.Time) {
	for i, c := range classes {
		class := strconv.Itoa(i)
		r.send(q.classDepth, float64(c.Queued), class)
		var waited time.Duration
		if !c.QueuedSince.IsZero() {
			waited = max(0, now.Sub(c.QueuedSince))
		}
		r.send(q.classOldest, waited.Seconds(), class)
		if i > 0 {
			r.send(q.classMaxWait, c.MaxWait.Seconds(), class)
		}
	}
}

// addQueue begins the series of a queue, and ends those of one that had the name and was
// shut down. The counters are looked up once, here: Added and its like are called while
// the queue works.
func (q *queues) addQueue(name string, source stater) *queueSeries {
	for _, former := range q.all() {
		if former.name == name && former.shutDown() {
			former.end()
		}
	}
	return q.addNumbered(name, func(name string) *queueSeries {
		return &queueSeries{
			name:    name,
			source:  source,
			adds:    q.adds.WithLabelValues(name),
			retries: q.retries.WithLabelValues(name),
			waited:  q.waited.WithLabelValues(name),
			worked:  q.worked.WithLabelValues(name),
			end:     sync.OnceFunc(func() { q.remove(name, func() { q.vectors.end(name) }) }),
		}
	})
}

// queueSeries are the metrics of one queue.
type queueSeries struct {
	name           string
	source         stater
	adds, retries  prom.Counter
	waited, worked prom.Observer
	end            func()
}

// stater is any queue of package workqueue.
type stater interface{ Stats() workqueue.Stats }

// classer is one that says how its priority classes are, as all of them do.
type classer interface {
	PriorityClasses() []workqueue.PriorityClassInspection
}

// shutDown reports whether the queue was shut down, if it can say so.
func (q *queueSeries) shutDown() bool {
	s, ok := q.source.(interface{ ShuttingDown() bool })
	return ok && s.ShuttingDown()
}

// Added implements [workqueue.Metrics].
func (q *queueSeries) Added(n int) { q.adds.Add(float64(n)) }

// Retried implements [workqueue.Metrics].
func (q *queueSeries) Retried() { q.retries.Inc() }

// Started implements [workqueue.Metrics].
func (q *queueSeries) Started(waited time.Duration) { q.waited.Observe(waited.Seconds()) }

// Finished implements [workqueue.Metrics].
func (q *queueSeries) Finished(worked time.Duration) { q.worked.Observe(worked.Seconds()) }
