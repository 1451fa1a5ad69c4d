package differential

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// minimise returns a part of steps for which fails still holds and from which
// no single step can be left out. It tries large pieces first, so that it takes
// few attempts where few steps matter.
func minimise[S any](steps []S, fails func([]S) bool) []S {
	for size := max(1, len(steps)/2); ; size = max(1, size/2) {
		shrunk := false
		for at := 0; at < len(steps); {
			rest := slices.Concat(steps[:at], steps[min(at+size, len(steps)):])
			if fails(rest) {
				steps, shrunk = rest, true
			} else {
				at += size
			}
		}
		if size == 1 && !shrunk {
			return steps
		}
	}
}

func TestMinimiseFindsTheStepsThatMatter(t *testing.T) {
	t.Parallel()
	var steps []int
	for i := range 100 {
		steps = append(steps, i)
	}
	attempts := 0
	got := minimise(steps, func(part []int) bool {
		attempts++
		return slices.Contains(part, 17) && slices.Contains(part, 18) && slices.Contains(part, 93)
	})
	assert.Equal(t, []int{17, 18, 93}, got)
	assert.Less(t, attempts, 100)
}

func TestMinimiseLeavesNothingThatCouldBeLeftOut(t *testing.T) {
	t.Parallel()
	steps := slices.Repeat([]int{1, 2, 3}, 20)
	fails := func(part []int) bool { // five of a kind
		count := map[int]int{}
		for _, s := range part {
			count[s]++
		}
		return count[1] >= 5 || count[2] >= 5
	}
	got := minimise(steps, fails)
	assert.Len(t, got, 5)
	for i := range got {
		assert.False(t, fails(slices.Delete(slices.Clone(got), i, i+1)))
	}
}

func TestMinimiseOfAFailureWithoutSteps(t *testing.T) {
	t.Parallel()
	assert.Empty(t, minimise([]int{1, 2, 3}, func([]int) bool { return true }))
}
