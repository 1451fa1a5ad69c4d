package measure

import "slices"

// Median returns the median of values, which must not be empty.
func Median(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
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
