package sharding

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The quota of no replica changes in the wrong direction when another one joins, at
// whatever place in the order.
func TestQuotasMoveTheLeast(t *testing.T) {
	t.Parallel()
	for parts := range 130 {
		for n := range 20 {
			n++
			before, after := quotas(parts, n), quotas(parts, n+1)
			sum := 0
			for _, q := range after {
				sum += q
			}
			require.Equal(t, parts, sum)
			require.LessOrEqual(t, after[0]-after[n], 1)
			for place := range n + 1 {
				others := slices.Delete(slices.Clone(after), place, place+1)
				for i := range others {
					require.LessOrEqual(t, others[i], before[i], "%d parts, %d replicas", parts, n)
				}
			}
		}
	}
}

func TestPlanGivesEachFreePartToAReplicaWithRoom(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 1000 {
		var replicas []string
		for i := range 1 + rnd.IntN(6) {
			replicas = append(replicas, fmt.Sprint("replica-", i))
		}
		holders := make([]string, rnd.IntN(40))
		for i := range holders {
			switch k := rnd.IntN(len(replicas) + 2); {
			case k < len(replicas):
				holders[i] = replicas[k]
			case k == len(replicas):
				holders[i] = "leaving"
			}
		}
		next := plan(holders, replicas)
		count := map[string]int{}
		for i, h := range holders {
			count[h]++
			if next[i] != "" {
				require.Empty(t, h)
				count[next[i]]++
			}
		}
		for i, q := range quotas(len(holders), len(replicas)) {
			given := count[replicas[i]]
			require.True(t, given <= q || !slices.Contains(next, replicas[i]), "%s has %d of %d", replicas[i], given, q)
			for p := range holders {
				// A part may stay free only while a replica has too many, or is leaving.
				require.False(t, holders[p] == "" && next[p] == "" && given < q)
			}
		}
	}
	assert.Equal(t, []string{"", ""}, plan([]string{"", ""}, nil))
}

// Rendezvous hashing: replicas prefer different parts, evenly.
func TestScoresAreSpread(t *testing.T) {
	t.Parallel()
	wins := map[string]int{}
	for part := range 4000 {
		best := slices.MaxFunc([]string{"pod-a", "pod-b", "pod-c", "pod-d"}, func(a, b string) int {
			if score(a, part) < score(b, part) {
				return -1
			}
			return 1
		})
		wins[best]++
	}
	for replica, n := range wins {
		assert.InDelta(t, 1000, n, 150, replica)
	}
	kept := keep("pod-a", []int{1, 2, 3}, 2)
	assert.Len(t, kept, 2)
	assert.Equal(t, kept, keep("pod-a", []int{3, 2, 1}, 2), "whatever the order")
	assert.Len(t, keep("pod-a", []int{1}, 5), 1)
}
