package measure

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMedianOfAnEvenNumberIsTheMeanOfTheMiddle(t *testing.T) {
	t.Parallel()
	require.InDelta(t, 2.5, Median([]float64{4, 1, 3, 2}), 1e-9)
	require.InDelta(t, 3, Median([]float64{4, 1, 3}), 1e-9)
}

func TestPairedRatiosCancelWhatBothSidesFeel(t *testing.T) {
	t.Parallel()
	ours := []float64{1, 10, 2}
	theirs := []float64{3, 30, 6}
	require.Equal(t, []float64{3, 3, 3}, Quotients(theirs, ours))
}
