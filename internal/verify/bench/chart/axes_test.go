package chart

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot"
)

func labels(ticks []plot.Tick) (ls []string) {
	for _, t := range ticks {
		if t.Label != "" {
			ls = append(ls, t.Label)
		}
	}
	return ls
}

func TestPlacesAreLabelled(t *testing.T) {
	t.Parallel()
	scale, ticks, logarithmic := xAxis([]float64{1000, 10_000, 100_000, 1_000_000})
	require.Equal(t, plot.LogScale{}, scale)
	require.Equal(t, []string{"1k", "10k", "100k", "1M"}, labels(ticks))
	require.True(t, logarithmic)

	scale, ticks, logarithmic = xAxis([]float64{0, 1, 2, 4, 8})
	require.Equal(t, plot.LinearScale{}, scale)
	require.Equal(t, []string{"0", "1", "2", "4", "8"}, labels(ticks))
	require.False(t, logarithmic)

	scale, _, logarithmic = xAxis([]float64{0, 1, 3, 10, 80})
	require.True(t, logarithmic)
	require.Zero(t, scale.Normalize(0, 80, 0))
	require.InDelta(t, 0.546, scale.Normalize(0, 80, 10), 1e-3)
	require.EqualValues(t, 1, scale.Normalize(0, 80, 80))
}

func TestValuesHaveRoundTicks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		least, most float64
		unit        string
		lo, hi      float64
		want        []string
	}{
		{70, 210, "B", 0, 250, []string{"0", "50 B", "100 B", "150 B", "200 B", "250 B"}},
		{2, 7, "", 0, 8, []string{"0", "2", "4", "6", "8"}},
		{0, 0, "", 0, 1, []string{"0", "0.2", "0.4", "0.6", "0.8", "1"}},
		{40e-9, 900e-9, "s", 20e-9, 1e-6, []string{"20 ns", "50 ns", "100 ns", "200 ns", "500 ns", "1 µs"}},
		{30, 400_000, "/s", 20, 500_000, []string{"100/s", "1k/s", "10k/s", "100k/s"}},
		{1, 1000, "B", 1, 1000, []string{"1 B", "10 B", "100 B", "1 kB"}},
	} {
		_, lo, hi, ticks := yAxis(c.least, c.most, c.unit)
		require.InDelta(t, c.lo, lo, 1e-9*c.hi)
		require.InDelta(t, c.hi, hi, 1e-9*c.hi)
		require.Equal(t, c.want, labels(ticks))
		for _, tick := range ticks {
			require.GreaterOrEqual(t, tick.Value, lo)
			require.LessOrEqual(t, tick.Value, hi*(1+1e-9))
		}
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
