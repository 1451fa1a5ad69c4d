package sharding

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/apimachinery/pkg/types"
)

func TestSplitHashesCoverEverythingOnce(t *testing.T) {
	t.Parallel()
	for _, n := range []int{-1, 0, 1, 2, 3, 5, 64, 1000, 4097} {
		ranges := SplitHashes(n)
		require.Len(t, ranges, max(n, 1))
		assert.Zero(t, ranges[0].First)
		assert.EqualValues(t, uint64(math.MaxUint64), ranges[len(ranges)-1].Last)
		size := ranges[0].Last - ranges[0].First
		for i, r := range ranges[1:] {
			require.Equal(t, ranges[i].Last+1, r.First)
			require.InDelta(t, float64(size), float64(r.Last-r.First), 1)
		}
		assert.Equal(t, hashSet{{0, math.MaxUint64}}, newHashSet(ranges))
		assert.InDelta(t, 1, newHashSet(ranges).fraction(), 1e-9)
	}
	assert.Equal(t, "0x0000000000000000-0x7fffffffffffffff", SplitHashes(2)[0].String())
}

// The informer, its selector and the server agree on every object: the hash is that of
// apimachinery's package, and so is the meaning of the selector.
func FuzzSelectorsAgree(f *testing.F) {
	f.Add("0f1e2d3c", uint64(3), uint8(1))
	f.Add("", uint64(0), uint8(0))
	f.Fuzz(func(t *testing.T, value string, pick uint64, keyNumber uint8) {
		want, err := strconv.ParseUint(sharding.HashField(value), 16, 64)
		require.NoError(t, err)
		require.Equal(t, want, HashOf(value))
		key := HashKey(keyNumber % 2)
		rnd := rand.New(rand.NewPCG(pick, 0))
		var some []HashRange
		for _, r := range SplitHashes(1 + rnd.IntN(12)) {
			if rnd.IntN(2) == 0 {
				some = append(some, r)
			}
		}
		// Also at the very ends of ranges.
		some = append(some[:0:0], some...)
		set := newHashSet(some)
		p := &pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(value), Namespace: value}}
		if len(set) > 0 {
			selects, err := parseShards(set.selector(key)).Matches(p)
			require.NoError(t, err)
			require.Equal(t, selects, set.contains(key.Of(p)))
		}
		for _, edge := range []HashRange{{want, want}, {0, want}, {want, math.MaxUint64}} {
			set := newHashSet([]HashRange{edge})
			selects, err := parseShards(set.selector(key)).Matches(p)
			require.NoError(t, err)
			require.True(t, selects)
			require.True(t, set.contains(key.Of(p)))
		}
	})
}

func TestSetsOfHashes(t *testing.T) {
	t.Parallel()
	for range 200 {
		seed := rand.Uint64()
		rnd := rand.New(rand.NewPCG(seed, 0))
		parts := SplitHashes(1 + rnd.IntN(20))
		in := map[HashRange]bool{}
		var some []HashRange
		for _, r := range parts {
			if in[r] = rnd.IntN(3) > 0; in[r] {
				some = append(some, r)
			}
		}
		rnd.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
		set := newHashSet(some)
		for _, r := range parts {
			for _, hash := range []uint64{r.First, r.Last, r.First + (r.Last-r.First)/2} {
				require.Equal(t, in[r], set.contains(hash), "seed %d", seed)
			}
		}
	}
}

func TestOwnerDecidesTheHashOfWhatItControls(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	p := &pod{ObjectMeta: metav1.ObjectMeta{UID: "own", Namespace: "ns", OwnerReferences: []metav1.OwnerReference{
		{UID: "other", Controller: &no}, {UID: "owner", Controller: &yes},
	}}}
	assert.Equal(t, HashOf("owner"), HashOwner.Of(p))
	assert.Equal(t, HashOf("own"), HashUID.Of(p))
	assert.Equal(t, HashOf("ns"), HashNamespace.Of(p))
	p.OwnerReferences = p.OwnerReferences[:1]
	assert.Equal(t, HashOf("own"), HashOwner.Of(p))
	assert.Equal(t, "HashOwner", HashOwner.String())
	assert.Equal(t, "HashKey(7)", HashKey(7).String())
}
