package chart

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot"
)

func labels(axis plot.Axis) (ls []string) {
	for _, t := range axis.Tick.Marker.Ticks(axis.Min, axis.Max) {
		if t.Label != "" {
			ls = append(ls, t.Label)
		}
	}
	return ls
}

func TestPlacesAreLabelled(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		xs     []float64
		scale  plot.Normalizer
		labels []string
		name   string
	}{
		{[]float64{1000, 10_000, 100_000, 1_000_000}, plot.LogScale{}, []string{"1k", "10k", "100k", "1M"}, " (logarithmic)"},
		{[]float64{0, 1, 2, 4, 8}, plot.LinearScale{}, []string{"0", "1", "2", "4", "8"}, ""},
		{[]float64{0, 1, 3, 10, 80}, logFromZero{}, []string{"0", "1", "3", "10", "80"}, " (logarithmic)"},
	} {
		axis := plot.New().X
		setX(&axis, c.xs)
		require.Equal(t, c.scale, axis.Scale)
		require.Equal(t, c.labels, labels(axis))
		require.Equal(t, c.name, axis.Label.Text)
	}
	require.Zero(t, logFromZero{}.Normalize(0, 80, 0))
	require.InDelta(t, 0.546, logFromZero{}.Normalize(0, 80, 10), 1e-3)
	require.EqualValues(t, 1, logFromZero{}.Normalize(0, 80, 80))
}

func TestValuesHaveRoundTicks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		least, most float64
		unit        string
		want        []string
	}{
		{70, 200, "B", []string{"0", "100 B", "200 B"}},
		{0, 0, "", []string{"0", "0.5", "1"}},
		{40e-9, 900e-9, "s", []string{"10 ns", "100 ns", "1 µs"}},
		{30, 400_000, "/s", []string{"10/s", "100/s", "1k/s", "10k/s", "100k/s", "1M/s"}},
	} {
		axis := plot.New().Y
		setY(&axis, c.least, c.most, c.unit)
		require.LessOrEqual(t, axis.Min, c.least)
		require.GreaterOrEqual(t, axis.Max, c.most)
		require.Equal(t, c.want, labels(axis))
	}
}

func TestNumbersHaveThePrefixThatSuitsThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		v    float64
		unit string
		want string
	}{
		{0, "s", "0"}, {5e-9, "s", "5 ns"}, {2e-5, "s", "20 µs"}, {0.5, "s", "500 ms"}, {20, "s", "20 s"},
		{80, "B", "80 B"}, {1000, "B", "1 kB"}, {2.5e6, "B", "2.5 MB"}, {0.5, "B", "0.5 B"},
		{1e4, "/s", "10k/s"}, {0.25, "/s", "0.25/s"}, {300, "", "300"}, {1e6, "", "1M"},
	} {
		require.Equal(t, c.want, withUnit(c.v, c.unit))
	}
}
