package chart

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/plot"
)

// wide is the quotient of the largest and the smallest value from which an axis
// is logarithmic.
const wide = 15

// xAxis returns a scale for the places, and ticks at them. Zero is shown
// even if the other values span decades.
func xAxis(xs []float64) (scale plot.Normalizer, ticks []plot.Tick, logarithmic bool) {
	for _, x := range xs {
		ticks = append(ticks, plot.Tick{Value: x, Label: number(x)})
	}
	least, most := xs[0], xs[len(xs)-1]
	switch {
	case most < wide*max(least, 1):
		return plot.LinearScale{}, ticks, false
	case least == 0:
		return logFromZero{}, ticks, true
	default:
		return plot.LogScale{}, ticks, true
	}
}

// logFromZero is the logarithm of one more.
type logFromZero struct{}

func (logFromZero) Normalize(lo, hi, x float64) float64 {
	return (math.Log1p(x) - math.Log1p(lo)) / (math.Log1p(hi) - math.Log1p(lo))
}

// yAxis returns a scale that holds the values, its ends, and its ticks.
func yAxis(least, most float64, unit string) (scale plot.Normalizer, lo, hi float64, ticks []plot.Tick) {
	if least > 0 && most >= wide*least {
		lo, hi = round125(least, false), round125(most, true)
		return plot.LogScale{}, lo, hi, logTicks(lo, hi, unit)
	}
	if most == 0 {
		most = 1 // nothing at all, as of goroutines
	}
	step := round125(most/5, true)
	hi = step * math.Ceil(most/step*(1-1e-9))
	hi = max(hi, step)
	for i := 0; float64(i)*step <= hi*(1+1e-9); i++ {
		v := float64(i) * step
		ticks = append(ticks, plot.Tick{Value: v, Label: withUnit(v, unit)})
	}
	return plot.LinearScale{}, 0, hi, ticks
}

// logTicks labels powers of ten, and twice and five times them if there are few.
func logTicks(lo, hi float64, unit string) []plot.Tick {
	few := hi/lo < 1000
	var ticks []plot.Tick
	for exp := math.Floor(math.Log10(lo)); exp <= math.Ceil(math.Log10(hi)); exp++ {
		for m := 1; m <= 9; m++ {
			v := float64(m) * math.Pow(10, exp)
			if v < lo*(1-1e-9) || v > hi*(1+1e-9) {
				continue
			}
			t := plot.Tick{Value: min(max(v, lo), hi)}
			if m == 1 || few && (m == 2 || m == 5) {
				t.Label = withUnit(v, unit)
			}
			ticks = append(ticks, t)
		}
	}
	return ticks
}

// round125 returns the next number of the shape 1, 2 or 5 times a power of ten.
func round125(v float64, up bool) float64 {
	p := math.Pow(10, math.Floor(math.Log10(v)))
	shapes := []float64{p, 2 * p, 5 * p, 10 * p}
	if up {
		for _, s := range shapes {
			if s >= v*(1-1e-9) {
				return s
			}
		}
	}
	best := p
	for _, s := range shapes {
		if s <= v*(1+1e-9) {
			best = s
		}
	}
	return best
}

// prefixes of units, a thousand from one to the next, beginning at 10⁻⁹.
var prefixes = []string{"n", "µ", "m", "", "k", "M", "G", "T"}

// withUnit writes a value with the prefix that suits it: 20 µs, 5 kB, 10k/s.
func withUnit(v float64, unit string) string {
	if v == 0 {
		return "0"
	}
	i := 0
	least := 3 // only time has parts
	if unit == "s" {
		least = 0
	}
	scaled := v * 1e9
	for i < len(prefixes)-1 && (i < least || scaled >= 1000*(1-1e-9)) {
		scaled /= 1000
		i++
	}
	space := " "
	if unit == "/s" || unit == "" {
		space = ""
	}
	return strings.TrimSpace(fmt.Sprintf("%.3g%s%s%s", scaled, space, prefixes[i], unit))
}

// number writes a plain number.
func number(v float64) string { return withUnit(v, "") }
