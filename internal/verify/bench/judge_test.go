package bench

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func samples(figures ...float64) []Sample {
	s := make([]Sample, len(figures))
	for i, f := range figures {
		s[i].Figure = f
	}
	return s
}

func TestTargetIsMissedOnlyBeyondTheNoise(t *testing.T) {
	t.Parallel()
	row := Row{Want: Target{Ratio: 2}}
	for _, c := range []struct {
		theirs  []Sample
		verdict string
	}{
		{samples(25, 25, 25, 25, 25), "ok"},
		{samples(19.5, 19.5, 19.5, 19.5, 19.5), "within noise"},
		{samples(15, 15, 15, 15, 15), "MISSED: ratio"},
		{samples(15, 15, 15, 15, 21), "within noise"},
	} {
		res := judge(row, samples(10, 10, 10, 10, 10), c.theirs, 1)
		require.Equal(t, c.verdict, res.verdict())
	}
}

func TestLimitsOfCountsHaveNoNoise(t *testing.T) {
	t.Parallel()
	ours := samples(10, 10, 10)
	for i := range ours {
		ours[i].Allocs = 1
	}
	row := Row{Want: Target{Allocs: AtMost(0)}}
	require.Equal(t, []string{"allocations"}, judge(row, ours, samples(10, 10, 10), 1).Misses)
	row.Want.Allocs = AtMost(1)
	require.Empty(t, judge(row, ours, samples(10, 10, 10), 1).Misses)
}

func TestSlackMakesTimesEasier(t *testing.T) {
	t.Parallel()
	ours := samples(10, 10, 10, 10, 10)
	for _, c := range []struct {
		name    string
		want    Target
		theirs  float64
		verdict string
	}{
		{"a ratio on target", Target{Ratio: 2}, 25, "ok"},
		{"a ratio three times less than its target", Target{Ratio: 2}, 7, "within slack"},
		{"a ratio five times less than its target", Target{Ratio: 2}, 4, "MISSED: ratio"},
		{"a figure within three times its limit", Target{Figure: AtMost(4)}, 10, "within slack"},
		{"a figure beyond three times its limit", Target{Figure: AtMost(3)}, 10, "MISSED: figure"},
	} {
		theirs := samples(c.theirs, c.theirs, c.theirs, c.theirs, c.theirs)
		res := judge(Row{Want: c.want}, ours, theirs, 3)
		require.Equal(t, c.verdict, res.verdict(), c.name)
	}
}

func TestSlackLooksAtTheBestRuns(t *testing.T) {
	t.Parallel()
	row := Row{Want: Target{Ratio: 2, Figure: AtMost(4)}}
	busy := samples(90, 80, 10, 70, 60)
	require.Empty(t, judge(row, busy, samples(500, 25, 30, 25, 400), 3).Misses)
	slow := samples(40, 90, 80, 70, 60)
	require.Equal(t, []string{"ratio", "figure"}, judge(row, slow, samples(500, 25, 30, 25, 400), 3).Misses,
		"that theirs was hindered more often is no excuse")
}

func TestSlackHardlyMakesMemoryEasier(t *testing.T) {
	t.Parallel()
	ours := samples(110, 110, 110)
	for _, m := range []Measure{LiveHeap, Memory, Quotient} {
		row := Row{Measure: m, Want: Target{Ratio: 1, Figure: AtMost(100)}}
		require.Empty(t, judge(row, ours, samples(100, 100, 100), 3).Misses, "a tenth over the limit")
		row.Want.Figure = AtMost(80)
		require.Equal(t, []string{"figure"}, judge(row, ours, samples(100, 100, 100), 3).Misses)
		require.Equal(t, []string{"ratio", "figure"}, judge(row, ours, samples(70, 70, 70), 3).Misses)
	}
}

func TestSlackCountsThreefoldForLongestTimes(t *testing.T) {
	t.Parallel()
	row := Row{Measure: Latency, Want: Target{Ratio: 100}}
	ours := samples(10, 10, 10)
	require.Empty(t, judge(row, ours, samples(40, 40, 40), 3).Misses, "100 / 3³ is less than 4")
	require.Equal(t, []string{"ratio"}, judge(row, ours, samples(10, 10, 10), 3).Misses, "as bad as theirs")
}

func TestSlackLeavesCountsAlone(t *testing.T) {
	t.Parallel()
	ours := samples(10, 10, 10)
	for i := range ours {
		ours[i].Allocs, ours[i].Goroutines = 1, 1
	}
	row := Row{Want: Target{Allocs: AtMost(0), Goroutines: AtMost(0)}}
	require.Equal(t, []string{"allocations", "goroutines"}, judge(row, ours, samples(10, 10, 10), 5).Misses)
}

func TestSlackBelowOneIsNone(t *testing.T) {
	t.Parallel()
	row := Row{Want: Target{Ratio: 2}}
	for _, slack := range []float64{0, 0.5, 1} {
		require.Empty(t, judge(row, samples(10, 10, 10), samples(20, 20, 20), slack).Misses)
		require.Equal(t, []string{"ratio"}, judge(row, samples(10, 10, 10), samples(15, 15, 15), slack).Misses)
	}
}

func TestCertaintyIsNeverNarrowerThanTheLeastNoise(t *testing.T) {
	t.Parallel()
	iv := certain([]float64{100, 100, 100, 100, 100})
	require.InDelta(t, 95, iv.Low, 1e-9)
	require.InDelta(t, 105, iv.High, 1e-9)
}
