package informer

import "time"

// MetricsProvider provides the [Metrics] of each informer, for example series with
// the informer's name as a label. Package informer/prometheus has one.
type MetricsProvider interface {
	// Informer is called by Run, once for each informer. The function health is
	// the informer's [Informer.Health], to be called from any goroutine, for
	// example for each scrape; so all informers of a [Factory] are seen.
	Informer(name string, health func() Health) Metrics
}

// Metrics records the measurements of one informer. The methods are called one at
// a time by the goroutine that applies changes, which waits for them: they must not
// block. What changes with time rather than with events (lag per handler, age of
// the cache, length of the queue, reconnects) is in [Health], to be read as needed.
//
// What its reflectors and a work queue measure is in the Metrics of their packages.
type Metrics interface {
	// Applied records that a batch was applied to the cache and logged.
	Applied(counts EventCounts, took time.Duration)
	// Synced records how long the first list took, from the call of Run.
	Synced(after time.Duration)
	// Close is called when the informer has stopped: its series should end. It is
	// the last call.
	Close()
}

// EventCounts says what a batch consisted of.
type EventCounts struct {
	// Added, Updated and Deleted count changes of the cache, those found by a
	// list included.
	Added, Updated, Deleted int
	// Lists counts the results of lists, first or later.
	Lists int
	// Objects is how many objects the cache has after the batch.
	Objects int
}

// count adds one event of a type.
func (c *EventCounts) count(t ChangeType) {
	switch t {
	case Added:
		c.Added++
	case Updated:
		c.Updated++
	case Deleted:
		c.Deleted++
	}
}
