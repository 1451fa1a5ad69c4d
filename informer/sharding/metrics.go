package sharding

import "time"

// noMetrics is what gets the measurements of a replica before Run, and without a provider.
type noMetrics struct{}

func (noMetrics) Renewed(time.Duration, error) {}
func (noMetrics) Took(int)                     {}
func (noMetrics) Gave(int, time.Duration)      {}
func (noMetrics) Lost(int)                     {}
func (noMetrics) Close()                       {}
