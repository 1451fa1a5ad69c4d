package reconcile

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/informerkit/informerkit/internal/verify/measure"
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
	assert.Equal(t, measure.Interval{Median: 2, Low: 1, High: 3}, ratio([]float64{20, 1, 9}, []float64{10, 1, 3}))
}
