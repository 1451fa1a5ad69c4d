package bench

import (
	"slices"

	"github.com/informerkit/informerkit/internal/verify/measure"
)

// Result is a measured row.
type Result struct {
	Row          Row
	Ours, Theirs Outcome
	// Ratio is the median of their figure over ours, pair by pair, with the
	// range within which it is certain.
	Ratio measure.Interval
	// Misses lists the parts of the target that are missed, beyond the noise.
	Misses []string
	// Noisy is set if part of the target is missed, but not beyond the noise and
	// the slack.
	Noisy bool
	slack float64
}

// Outcome is what one side has shown.
type Outcome struct {
	// Samples are the runs, in order.
	Samples []Sample
	// Figure is the median of their figures, with the range of certainty.
	Figure measure.Interval
	// Allocs, Bytes and Goroutines are medians, per unit.
	Allocs, Bytes, Goroutines float64
}

// judge compares the samples with each other and with the target.
func judge(row Row, ours, theirs []Sample, slack float64) Result {
	res := Result{
		Row: row, Ours: outcome(ours), Theirs: outcome(theirs),
		Ratio: certain(measure.Quotients(figures(theirs), figures(ours))),
		slack: slack,
	}
	want := row.Want
	least, ratio, figure := want.Ratio, res.Ratio.High, res.Ours.Figure.Low
	if slack > 1 {
		// The best runs say more than the range of all of them, which is as wide
		// as the machine is busy: other processes make nothing faster.
		slack = row.Measure.slack(slack)
		least = want.Ratio / slack
		ratio, figure = best(theirs)/best(ours), best(ours)/slack
	}
	switch {
	case ratio < least:
		res.Misses = append(res.Misses, "ratio")
	case res.Ratio.Median < want.Ratio:
		res.Noisy = true
	}
	switch {
	case want.Figure.exceeds(figure):
		res.Misses = append(res.Misses, "figure")
	case want.Figure.exceeds(res.Ours.Figure.Median):
		res.Noisy = true
	}
	for _, count := range []struct {
		limit Limit
		value float64
		name  string
	}{
		{want.Allocs, res.Ours.Allocs, "allocations"},
		{want.Goroutines, res.Ours.Goroutines, "goroutines"},
	} {
		if count.limit.countExceeds(count.value) {
			res.Misses = append(res.Misses, count.name)
		}
	}
	return res
}

// memorySlack is the most slack that amounts of memory and quotients have: what
// else the machine does hardly changes them.
const memorySlack = 1.25

// best is the least figure.
func best(samples []Sample) float64 { return slices.Min(figures(samples)) }

// slack is how much of the slack is due to what is measured.
func (m Measure) slack(s float64) float64 {
	switch m {
	case LiveHeap, Memory, Quotient:
		return min(s, memorySlack)
	case Latency:
		// A longest time, or a percentile. If another process gets the core for
		// a time slice, that is the longest time, however short ours was.
		return s * s * s
	default:
		return s
	}
}

func outcome(samples []Sample) Outcome {
	pick := func(f func(Sample) float64) float64 { return measure.Median(measure.Column(samples, f)) }
	return Outcome{
		Samples:    samples,
		Figure:     certain(figures(samples)),
		Allocs:     pick(func(s Sample) float64 { return s.Allocs }),
		Bytes:      pick(func(s Sample) float64 { return s.Bytes }),
		Goroutines: pick(func(s Sample) float64 { return s.Goroutines }),
	}
}

func figures(samples []Sample) []float64 {
	return measure.Column(samples, func(s Sample) float64 { return s.Figure })
}

// leastNoise is the relative noise that is assumed in any case: what the layout
// of code and data in memory changes from one build to the next is not seen by
// repeating runs.
const leastNoise = 0.05

// certain returns the median with the range within which it is certain.
func certain(values []float64) measure.Interval {
	iv := measure.MedianInterval(values)
	iv.Low = min(iv.Low, iv.Median*(1-leastNoise))
	iv.High = max(iv.High, iv.Median*(1+leastNoise))
	return iv
}
