package measure

import (
	"math"
	"slices"
)

// confidence is how certain it is at least that an interval holds the median
// that infinitely many runs would have.
const confidence = 0.9

// Interval is a median and the range within which it is certain.
type Interval struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// Median returns the median of values, which must not be empty.
func Median(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

// MedianInterval returns the median with the narrowest pair of order statistics
// around it that has the confidence. That asks nothing of the distribution,
// which on a shared machine has a long tail to one side. With fewer than five
// values the whole range is the best there is.
func MedianInterval(values []float64) Interval {
	s := slices.Sorted(slices.Values(values))
	n := len(s)
	skip := 0
	for skip+1 < (n+1)/2 && coverage(n, skip+1) >= confidence {
		skip++
	}
	return Interval{Median(s), s[skip], s[n-1-skip]}
}

// coverage is the probability that the median lies between the values at skip
// and n-1-skip of n sorted ones: that of n coins at least skip+1 show heads, and
// at least skip+1 tails.
func coverage(n, skip int) float64 {
	outside, choose := 0.0, 1.0
	for k := 0; k <= skip; k++ {
		outside += choose
		choose = choose * float64(n-k) / float64(k+1)
	}
	return 1 - 2*outside*math.Pow(0.5, float64(n))
}

// Quotients returns a over b, run by run. Two runs of one round follow each other
// directly, so that a machine that is slow for a while is slow for both.
func Quotients(a, b []float64) []float64 {
	q := make([]float64, min(len(a), len(b)))
	for i := range q {
		q[i] = a[i] / b[i]
	}
	return q
}

// Column returns one figure of each of some runs.
func Column[T any](runs []T, figure func(T) float64) []float64 {
	values := make([]float64, len(runs))
	for i, r := range runs {
		values[i] = figure(r)
	}
	return values
}
