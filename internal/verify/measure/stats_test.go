package measure

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
	iv := MedianInterval([]float64{90, 10, 50, 30, 20, 40, 60, 70, 80})
	require.Equal(t, Interval{50, 20, 80}, iv, "of nine values the outer two are left out")
	iv = MedianInterval([]float64{3, 1, 2})
	require.Equal(t, Interval{2, 1, 3}, iv, "three values have no more than their range")
}

func TestMedianOfAnEvenNumberIsTheMeanOfTheMiddle(t *testing.T) {
	t.Parallel()
	require.InDelta(t, 2.5, Median([]float64{4, 1, 3, 2}), 1e-9)
}

func TestPairedRatiosCancelWhatBothSidesFeel(t *testing.T) {
	t.Parallel()
	ours := []float64{1, 10, 2}
	theirs := []float64{3, 30, 6}
	require.Equal(t, []float64{3, 3, 3}, Quotients(theirs, ours))
	require.False(t, math.IsNaN(MedianInterval(Quotients(theirs, ours)).Median))
}
