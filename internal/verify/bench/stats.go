package bench

import (
	"math"
	"slices"
)

// leastNoise is the relative noise that is assumed in any case: what the layout
// of code and data in memory changes from one build to the next is not seen by
// repeating runs.
const leastNoise = 0.05

// confidence is how certain it is at least that an interval holds the median
// that infinitely many runs would have.
const confidence = 0.9

// interval is a median and the range within which it is certain.
type interval struct{ low, mid, high float64 }

// Median returns the median of values, which must not be empty.
func Median(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

// medianInterval returns the median with the narrowest pair of order statistics
// around it that has the confidence. That asks nothing of the distribution,
// which on a shared machine has a long tail to one side. With fewer than five
// values the whole range is the best there is.
func medianInterval(values []float64) interval {
	s := slices.Sorted(slices.Values(values))
	n := len(s)
	skip := 0
	for skip+1 < (n+1)/2 && coverage(n, skip+1) >= confidence {
		skip++
	}
	iv := interval{s[skip], Median(s), s[n-1-skip]}
	iv.low = min(iv.low, iv.mid*(1-leastNoise))
	iv.high = max(iv.high, iv.mid*(1+leastNoise))
	return iv
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

// paired returns the quotient of theirs and ours, run by run. Two runs of one
// round follow each other directly, so that a machine that is slow for a while
// is slow for both.
func paired(ours, theirs []float64) []float64 {
	q := make([]float64, min(len(ours), len(theirs)))
	for i := range q {
		q[i] = theirs[i] / ours[i]
	}
	return q
}
