package differential

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestInformerTellsWhatClientGoDoes(t *testing.T) {
	t.Parallel()
	met := &tally{}
	t.Cleanup(func() {
		met.require(t, anotherObject, unknownDeletion, resyncTurns, kindIsSet, filteredUnseen)
	})
	kind[step]{few: 200, generate: steps, run: runCluster(met, nil)}.check(t)
}

// A defect that is planted is found, and its shortest history has nothing in it
// that does not matter: here, a handler that is not told of deletions which a
// relist has found.
func TestPlantedDifferenceIsFoundAndMadeShort(t *testing.T) {
	t.Parallel()
	run := runCluster(&tally{}, func(e told) bool { return e.typ == deleted && e.unseen })
	for seed := uint64(1); seed < 50; seed++ {
		history := steps(seed)
		if run(t, seed, history) == nil {
			continue
		}
		short := minimise(history, func(part []step) bool { return run(t, seed, part) != nil })
		t.Logf("seed %d, %d steps made %d:\n%s", seed, len(history), len(short), list(short))
		assert.LessOrEqual(t, len(short), 8)
		var verbs []verb
		for _, s := range short {
			verbs = append(verbs, s.Do)
		}
		for _, v := range []verb{write, join, start} {
			assert.Contains(t, verbs, v)
		}
		require.Error(t, run(t, seed, short))
		return
	}
	assert.Fail(t, "the planted difference was not found")
}
