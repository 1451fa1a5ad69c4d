package sharding

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// No replica has more parts than before when another one joins, nor fewer when one leaves; and
// nothing moves while counts differ by one at most, whatever the names.
func TestQuotasMoveTheLeast(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	for parts := range 60 {
		for n := range 12 {
			replicas := make([]string, n+1)
			for i := range replicas {
				replicas[i] = fmt.Sprintf("r%02d", i)
			}
			shuffled := slices.Clone(replicas)
			rnd.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			holders := make([]string, parts)
			has := map[string]int{}
			for i := range holders {
				holders[i] = shuffled[i%len(shuffled)]
				has[holders[i]]++
			}
			for r, q := range quotas(holders, replicas) {
				require.Equal(t, has[r], q, "%d parts, %d replicas", parts, n+1)
			}
			for _, joins := range []string{"a", "r05x", "z"} {
				with := slices.Sorted(slices.Values(append(slices.Clone(replicas), joins)))
				sum := 0
				for r, q := range quotas(holders, with) {
					sum += q
					require.True(t, q <= has[r] || r == joins)
				}
				require.Equal(t, parts, sum)
			}
			for i := range replicas {
				for r, q := range quotas(holders, slices.Delete(slices.Clone(replicas), i, i+1)) {
					require.GreaterOrEqual(t, q, has[r])
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
		for r, q := range quotas(holders, replicas) {
			given := count[r]
			require.True(t, given <= q || !slices.Contains(next, r), "%s has %d of %d", r, given, q)
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
