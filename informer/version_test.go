package informer

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/deltafifo"
)

func TestAtLeastComparesNumbersOfAnyLength(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		have, want string
		yes        bool
	}{
		{"10", "9", true}, {"9", "10", false}, {"9", "9", true}, {"", "1", false}, {"1", "", true},
		{"123456789012345678901234567890", "99", true},
		{"x", "1", true}, {"1", "x", true}, {"", "x", true},
	} {
		assert.Equal(t, test.yes, atLeast(test.have, test.want), "%v", test)
	}
}

// history is a random one: versions out of order, deletions with the version
// before, bookmarks, lists that go back, versions that are no numbers, or none.
func randomDeltas(rnd *rand.Rand, exotic bool) deltafifo.Deltas[*pod] {
	at := 100
	version := func() string {
		switch at += 1 + rnd.IntN(3); {
		case rnd.IntN(4) == 0:
			return fmt.Sprint(at - rnd.IntN(10)) // out of order
		case exotic && rnd.IntN(10) == 0:
			return []string{"", "0", "v1", "v2"}[rnd.IntN(4)]
		default:
			return fmt.Sprint(at)
		}
	}
	pods := func(rv string) *pod {
		return &pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: fmt.Sprint(rnd.IntN(5)), UID: "u", ResourceVersion: rv}}
	}
	list := func(rv string) deltafifo.Delta[*pod] {
		return deltafifo.Delta[*pod]{Type: deltafifo.Replaced, List: &deltafifo.List[*pod]{Objects: []*pod{pods(rv)}, ResourceVersion: rv}}
	}
	deltas := deltafifo.Deltas[*pod]{list("100")}
	for range 50 {
		p := pods(version())
		d := deltafifo.Delta[*pod]{Type: deltafifo.Updated, Object: p}
		switch rnd.IntN(10) {
		case 0, 1:
			d.Type = deltafifo.Deleted
		case 2:
			d = deltafifo.Delta[*pod]{Type: deltafifo.Bookmark, List: &deltafifo.List[*pod]{ResourceVersion: version()}}
		case 3:
			if d = list(version()); exotic && rnd.IntN(3) == 0 {
				at = rnd.IntN(at + 1) // the versions begin again
				d = list(fmt.Sprint(at))
			}
		}
		deltas = append(deltas, d)
	}
	return deltas
}

// versionsAfter applies a history in batches that end at the given places, and
// returns the version of the cache at each of them.
func versionsAfter(t *testing.T, deltas deltafifo.Deltas[*pod], ends []int) map[int][2]string {
	t.Helper()
	inf, err := New(newCluster().source(), Options[*pod]{})
	require.NoError(t, err)
	s, at := inf.applier.progress.sources[0], map[int][2]string{}
	begin := 0
	for _, end := range ends {
		inf.applier.apply(s, deltas[begin:end])
		at[end] = [2]string{inf.Snapshot().ResourceVersion(), s.reached}
		begin = end
	}
	return at
}

// The version of the cache is a matter of the history, not of how it was cut into
// batches, and it does not go back.
func TestVersionOfTheCacheDoesNotDependOnBatches(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 0))
	for range 50 {
		exotic := rnd.IntN(2) == 0
		deltas := randomDeltas(rnd, exotic)
		var every []int
		for i := range deltas {
			every = append(every, i+1)
		}
		want := versionsAfter(t, deltas, every)
		for i := 2; i <= len(deltas) && !exotic; i++ {
			require.True(t, atLeast(want[i][0], want[i-1][0]), "from %v back to %v", want[i-1], want[i])
		}
		for range 10 {
			ends := slices.DeleteFunc(slices.Clone(every), func(end int) bool { return end < len(deltas) && rnd.IntN(4) > 0 })
			for end, got := range versionsAfter(t, deltas, ends) {
				require.Equal(t, want[end], got, "after %d of the deltas, in batches that end at %v", end, ends)
			}
		}
	}
}

// The deletion of an object that could not be read has the version before, but
// that of a deletion which could is news.
func TestVersionOfADeletionIsNoted(t *testing.T) {
	t.Parallel()
	inWorld(t, newCluster(), Options[*pod]{}, func(t *testing.T, w *world) {
		w.set("a", "x", 1)
		gone := w.remove("a", "x")
		require.NoError(t, w.inf.WaitForResourceVersion(t.Context(), gone.ResourceVersion))
		assert.Equal(t, gone.ResourceVersion, w.inf.Snapshot().ResourceVersion())
		require.NoError(t, w.inf.applier.progress.sources[0].sink().Delete(t.Context(), labelled("nobody knows"))) // without any
		late := labelled("late")
		late.ResourceVersion = "7"
		require.NoError(t, w.inf.applier.progress.sources[0].sink().Delete(t.Context(), late))
		synctest.Wait()
		require.NoError(t, w.inf.WaitForResourceVersion(t.Context(), gone.ResourceVersion))
		assert.Equal(t, gone.ResourceVersion, w.inf.Snapshot().ResourceVersion())
	})
}
