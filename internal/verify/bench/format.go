package bench

import (
	"fmt"
	"strings"

	"github.com/informerkit/informerkit/internal/verify/measure"
)

// format writes a figure of the row for people.
func (r Row) format(v float64) string {
	switch {
	case r.Measure == Time && r.Rate:
		return measure.Scaled(1e9/v, "/s", "", "k", "M", "G")
	case r.Measure == Time || r.Measure == Latency:
		return measure.Duration(v)
	case r.Measure == LiveHeap || r.Measure == Memory:
		return measure.Bytes(v)
	default:
		return fmt.Sprintf("%.2f", v)
	}
}

// count writes a number of things per unit: a whole number if it is close to it.
func count(v float64) string {
	if v > -0.02 && v < 0.02 {
		return "0"
	}
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", v), "0"), ".")
}

// describe writes what one side has shown.
func (r Row) describe(o Outcome) string {
	parts := []string{r.format(o.Figure.Median)}
	switch r.Measure {
	case Time:
		parts = append(parts, count(o.Allocs)+" allocs")
	case LiveHeap:
		if o.Goroutines >= 0.02 || r.Want.Goroutines.set {
			parts = append(parts, count(o.Goroutines)+" goroutines")
		}
	}
	return strings.Join(parts, ", ")
}

// target writes what the row asks for.
func (r Row) target() string {
	var parts []string
	w := r.Want
	if w.Ratio > 0 {
		parts = append(parts, fmt.Sprintf("≥ %s×", trim(w.Ratio)))
	}
	parts = append(parts, w.Figure.describe("", r.format)...)
	parts = append(parts, w.Allocs.describe(" allocs", count)...)
	parts = append(parts, w.Goroutines.describe(" goroutines", count)...)
	return strings.Join(parts, ", ")
}

// ratio writes the ratio.
func (e Entry) ratio() string { return trim(e.Ratio) + "×" }

// ratioAndNoise writes the ratio and its noise.
func (e Entry) ratioAndNoise() string {
	return fmt.Sprintf("%s ±%.0f%%", e.ratio(), 100*max(e.High-e.Ratio, e.Ratio-e.Low)/e.Ratio)
}

func trim(v float64) string {
	switch {
	case v >= 99.5:
		return fmt.Sprintf("%.0f", v)
	case v >= 9.95:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0")
	default:
		return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", v), "0"), ".")
	}
}

// verdict writes what came out.
func (r Result) verdict() string {
	switch {
	case len(r.Misses) > 0:
		return "MISSED: " + strings.Join(r.Misses, ", ")
	case r.Noisy && r.slack > 1:
		return "within slack"
	case r.Noisy:
		return "within noise"
	case r.Row.Want == Target{}:
		return ""
	default:
		return "ok"
	}
}
