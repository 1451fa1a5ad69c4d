package reconcile

import (
	"math"
	"time"

	"github.com/informerkit/informerkit/internal/verify/measure"
)

// percentiles are those that the table shows.
var percentiles = []struct {
	name  string
	share float64
}{{", p50", 0.50}, {", p99", 0.99}}

// percentile returns the least value of a sorted list that a share p of all does not
// exceed.
func percentile(sorted []time.Duration, p float64) time.Duration {
	return sorted[max(0, int(math.Ceil(p*float64(len(sorted))))-1)]
}

// ratio returns the quotients a/b, round by round.
func ratio(a, b []float64) measure.Interval { return measure.MedianInterval(measure.Quotients(a, b)) }
