package bench

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCoverageIsThatOfOrderStatistics(t *testing.T) {
	t.Parallel()
	require.InDelta(t, 0.9375, coverage(5, 0), 1e-9)
	require.InDelta(t, 0.9609, coverage(9, 1), 1e-4)
	require.InDelta(t, 0.8203, coverage(9, 2), 1e-4)
}

func TestMedianIntervalLeavesOutWhatConfidenceAllows(t *testing.T) {
	t.Parallel()
	iv := medianInterval([]float64{90, 10, 50, 30, 20, 40, 60, 70, 80})
	require.Equal(t, interval{20, 50, 80}, iv, "of nine values the outer two are left out")
	iv = medianInterval([]float64{3, 1, 2})
	require.Equal(t, interval{1, 2, 3}, iv, "three values have no more than their range")
}

func TestMedianIntervalIsNeverNarrowerThanTheLeastNoise(t *testing.T) {
	t.Parallel()
	iv := medianInterval([]float64{100, 100, 100, 100, 100})
	require.InDelta(t, 95, iv.low, 1e-9)
	require.InDelta(t, 105, iv.high, 1e-9)
}

func TestMedianOfAnEvenNumberIsTheMeanOfTheMiddle(t *testing.T) {
	t.Parallel()
	require.InDelta(t, 2.5, Median([]float64{4, 1, 3, 2}), 1e-9)
}

func TestPairedRatiosCancelWhatBothSidesFeel(t *testing.T) {
	t.Parallel()
	ours := []float64{1, 10, 2}
	theirs := []float64{3, 30, 6}
	require.Equal(t, []float64{3, 3, 3}, paired(ours, theirs))
	require.False(t, math.IsNaN(medianInterval(paired(ours, theirs)).mid))
}
