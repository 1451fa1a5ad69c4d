package differential

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestInformerDeliversWhatClientGoDoes(t *testing.T) {
	t.Parallel()
	met := &tally{}
	t.Cleanup(func() {
		met.require(t, anotherObject, unknownDeletion, resyncTurns, kindIsSet, filteredUnseen)
	})
	kind[step]{few: 150, generate: steps, run: runCluster(met, nil)}.check(t)
}

// A defect that is planted is found, and nothing is left in its shortest history
// that does not matter.
func TestPlantedDefectsAreFoundAndMadeShort(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		planted defect
		verbs   []verb // without which it cannot happen
		most    int
	}{
		"deletions found by a relist are not delivered": {
			planted: func(e *delivery) bool { return e.typ != deleted || !e.unseen },
			verbs:   []verb{join, pause}, most: 7,
		},
		"deletions found by a relist look like any other": {
			planted: func(e *delivery) bool { e.unseen = false; return true },
			verbs:   []verb{join, pause}, most: 7,
		},
		"late handlers do not see that it is the initial list": {
			planted: func(e *delivery) bool { e.initial = false; return true },
			verbs:   []verb{join}, most: 3,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireFoundAndShort(t, c.planted, c.verbs, c.most)
		})
	}
}

func requireFoundAndShort(t *testing.T, planted defect, verbs []verb, most int) {
	run := runCluster(&tally{}, planted)
	for seed := uint64(1); seed < 50; seed++ {
		history := steps(seed)
		if run(t, seed, history) == nil {
			continue
		}
		short := minimise(history, func(part []step) bool { return run(t, seed, part) != nil })
		t.Logf("seed %d, %d steps made %d:\n%s", seed, len(history), len(short), list(short))
		assert.LessOrEqual(t, len(short), most)
		for _, v := range verbs {
			assert.True(t, slices.ContainsFunc(short, func(s step) bool { return s.Do == v }), "no %s", v)
		}
		require.Error(t, run(t, seed, short))
		return
	}
	require.Fail(t, "the planted defect was not found")
}
