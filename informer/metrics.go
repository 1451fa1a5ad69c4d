package informer

import "time"

// Metrics makes a recorder for each informer, for example of series with the
// informer's name as a label. Package informer/prometheus has one.
type Metrics interface {
	// Informer is called by Run, once for each informer. The function health is
	// the informer's [Informer.Health], to be called from any goroutine when
	// somebody asks; so nobody has to know which informers a [Factory] has made.
	Informer(name string, health func() Health) InformerMetrics
}

// InformerMetrics records the measurements of one informer. The methods are
// called one at a time, hold up the informer, and must not block. What changes
// with time rather than with events (lag per handler, age of the cache, length
// of the queue, reconnects) is in [Health], to be read when somebody asks.
type InformerMetrics interface {
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

func (c *EventCounts) count(t EventType) {
	switch t {
	case Added:
		c.Added++
	case Updated:
		c.Updated++
	case Deleted:
		c.Deleted++
	}
}
