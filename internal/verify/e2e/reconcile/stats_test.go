package reconcile

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestPercentileIsTheLeastValueThatTheShareDoesNotExceed(t *testing.T) {
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(i + 1)
	}
	assert.EqualValues(t, 50, percentile(hundred, 0.50))
	assert.EqualValues(t, 99, percentile(hundred, 0.99))
	assert.EqualValues(t, 1, percentile(hundred[:1], 0.99))
	assert.EqualValues(t, 1, percentile(hundred[:1], 0))
}

func TestRatioIsTakenRoundByRound(t *testing.T) {
	// A machine that is ten times as slow in one round is so for both sides.
	assert.Equal(t, Ratio{Median: 2, Low: 1, High: 3}, ratio([]float64{20, 1, 9}, []float64{10, 1, 3}))
	assert.Equal(t, 1.5, median([]float64{2, 1}))
}

func TestRatioOfManyRoundsLeavesOutWhatTheMedianIsHardlyEverBeyond(t *testing.T) {
	ones := []float64{1, 1, 1, 1, 1, 1, 1, 1, 1}
	nine := []float64{9, 1, 8, 2, 7, 3, 6, 4, 5}
	assert.Equal(t, Ratio{Median: 5, Low: 2, High: 8}, ratio(nine, ones))
	assert.Equal(t, Ratio{Median: 7, Low: 1, High: 9}, ratio(nine[:5], ones))
}
