package reconcile

import (
	"math"
	"slices"
	"time"
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

// median returns the median of values, which must not be empty.
func median(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

// Ratio is the quotient of the two sides over the rounds: the median of the
// quotients within each round, and the range that holds the true median with a
// confidence of nine in ten, as far as so few rounds allow; all of them, if not.
type Ratio struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// ratio returns the quotients a/b, round by round.
func ratio(a, b []float64) Ratio {
	q := make([]float64, min(len(a), len(b)))
	for i := range q {
		q[i] = a[i] / b[i]
	}
	slices.Sort(q)
	skip := 0
	for skip+1 < (len(q)+1)/2 && coverage(len(q), skip+1) >= 0.9 {
		skip++
	}
	return Ratio{median(q), q[skip], q[len(q)-1-skip]}
}

// coverage is the probability that the median lies within n sorted values without
// the skip first and last of them: that of n coins more than skip show heads, and
// more than skip tails.
func coverage(n, skip int) float64 {
	outside, choose := 0.0, 1.0
	for k := 0; k <= skip; k++ {
		outside += choose
		choose = choose * float64(n-k) / float64(k+1)
	}
	return 1 - 2*outside*math.Pow(0.5, float64(n))
}
