package explore

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Promise explore/1
func TestACorrectControllerSurvives(t *testing.T) {
	result := Search(t, Options{Schedules: 200}, Subject{Start: start(good), Act: scaling, Eventually: wanted})
	require.Nil(t, result.Finding, "%v", result.Finding)
	assert.Equal(t, 200, result.Schedules)
	assert.Empty(t, result.Unsteady)
	assert.Positive(t, result.Writes)
}

// Promise explore/2
func TestAnUnsafeCreateIsFoundAndShrunk(t *testing.T) {
	result := Search(t, Options{Schedules: 100}, Subject{Start: start(randomNames), Act: growing, Eventually: wanted})
	require.NotNil(t, result.Finding)
	t.Log(result.Finding)
	assert.Equal(t, ruleEventually, result.Finding.Rule)
}
