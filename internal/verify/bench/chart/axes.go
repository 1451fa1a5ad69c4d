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

// setX makes the axis of the places, with a tick at each. Zero is shown
// even if the other values span decades.
func setX(axis *plot.Axis, xs []float64) {
	ticks := make(plot.ConstantTicks, len(xs))
	for i, x := range xs {
		ticks[i] = plot.Tick{Value: x, Label: withUnit(x, "")}
	}
	axis.Tick.Marker = ticks
	least, most := xs[0], xs[len(xs)-1]
	axis.Min, axis.Max = least, most
	if most < wide*max(least, 1) {
		return
	}
	axis.Label.Text += " (logarithmic)"
	axis.Scale = plot.LogScale{}
	if least == 0 {
		axis.Scale = logFromZero{}
	}
}

// logFromZero is the logarithm of one more.
type logFromZero struct{}

func (logFromZero) Normalize(lo, hi, x float64) float64 {
	return (math.Log1p(x) - math.Log1p(lo)) / (math.Log1p(hi) - math.Log1p(lo))
}

// setY makes the axis of the values: from the decade of the least to that of the most, or from zero.
func setY(axis *plot.Axis, least, most float64, unit string) {
	if least > 0 && most >= wide*least {
		axis.Label.Text += " (logarithmic)"
		axis.Scale = plot.LogScale{}
		axis.Tick.Marker = unitTicks{plot.LogTicks{Prec: -1}, unit}
		axis.Min = math.Pow(10, math.Floor(math.Log10(least)))
		axis.Max = math.Pow(10, math.Ceil(math.Log10(most)))
		return
	}
	axis.Tick.Marker = unitTicks{plot.DefaultTicks{}, unit}
	axis.Min, axis.Max = 0, 1.25*most // with room for the legend
	if most == 0 {
		axis.Max = 1 // nothing at all, as of goroutines
	}
}

// unitTicks labels ticks with values and their unit.
type unitTicks struct {
	plot.Ticker
	unit string
}

func (t unitTicks) Ticks(least, most float64) []plot.Tick {
	ticks := t.Ticker.Ticks(least, most)
	for i := range ticks {
		if ticks[i].Label != "" {
			ticks[i].Label = withUnit(ticks[i].Value, t.unit)
		}
	}
	return ticks
}

// withUnit writes a value with the prefix that suits it: 20 µs, 5 kB, 10k/s.
func withUnit(v float64, unit string) string {
	if v == 0 {
		return "0"
	}
	// A thousand from one to the next, beginning at 10⁻⁹. Only time has parts.
	prefixes := []string{"n", "µ", "m", "", "k", "M", "G", "T"}
	least := 3
	if unit == "s" {
		least = 0
	}
	i, scaled := 0, v*1e9
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
