package sharding

import "time"

// Metrics records what a [Replica] does. The methods are called by its goroutine, one
// at a time, and must not block. States are in [Health].
type Metrics interface {
	// Renewed records a request that renewed the session, or failed to.
	Renewed(took time.Duration, err error)
	// Took records that the work on a part begins.
	Took(part int)
	// Gave records that a part was given up, after the given time of draining.
	Gave(part int, drained time.Duration)
	// Lost records that a part was lost.
	Lost(part int)
}

type noMetrics struct{}

func (noMetrics) Renewed(time.Duration, error) {}
func (noMetrics) Took(int)                     {}
func (noMetrics) Gave(int, time.Duration)      {}
func (noMetrics) Lost(int)                     {}
