package reflector

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestListOptionsFollowTheRules(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pos   position
		page  int64
		rv    string
		limit int64
	}{
		"first":                       {position{}, 0, "0", 500},
		"relist":                      {position{rv: "7"}, 0, "7", 0},
		"after an unknown version":    {position{rv: "7", lost: true}, 0, "", 500},
		"first, unknown":              {position{lost: true}, 0, "", 500},
		"explicit page":               {position{}, 9, "0", 9},
		"explicit page, relist":       {position{rv: "7"}, 9, "7", 9},
		"no watch cache":              {position{uncached: true}, 0, "0", 500},
		"no watch cache, relist":      {position{rv: "7", uncached: true}, 0, "7", 500},
		"no resourceVersion from it":  {position{rv: "0"}, 0, "0", 500},
		"explicit beats the unpaged":  {position{rv: "7", uncached: true}, 3, "7", 3},
		"explicit beats the fallback": {position{lost: true}, 3, "", 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := metav1.ListOptions{ResourceVersion: c.rv, Limit: c.limit}
			if c.rv == "7" && c.limit > 0 {
				want.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
			}
			require.Equal(t, want, c.pos.list(c.page))
		})
	}
}

func TestWatchListOptionsFollowTheRules(t *testing.T) {
	t.Parallel()
	yes := true
	want := metav1.ListOptions{
		SendInitialEvents: &yes, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, AllowWatchBookmarks: true,
	}
	require.Equal(t, want, (&position{}).watchList())
	require.Equal(t, want, (&position{rv: "7", lost: true}).watchList())
	want.ResourceVersion = "7"
	require.Equal(t, want, (&position{rv: "7"}).watchList())
}

func TestPositionIsResumableOnlyAtAVersion(t *testing.T) {
	t.Parallel()
	p := position{lost: true}
	require.False(t, p.resumable())
	p.synced("0")
	require.False(t, p.resumable())
	p.synced("7")
	require.True(t, p.resumable())
	require.False(t, p.lost)
	require.Equal(t, metav1.ListOptions{ResourceVersion: "7", AllowWatchBookmarks: true}, p.watch())
}

func TestThePositionNeverGoesBack(t *testing.T) {
	t.Parallel()
	p := position{rv: "9", doubt: true}
	for _, c := range []struct {
		version string
		further bool
		rv      string
	}{
		{"", false, "9"}, {"9", false, "9"}, {"8", false, "9"}, // older, also where text would sort it behind
		{"10", true, "10"}, {"9", false, "10"}, {"100", true, "100"}, {"20", false, "100"},
		{"99999999999999999999999999", true, "99999999999999999999999999"}, {"101", false, "99999999999999999999999999"},
		// Versions without an order are taken in the order of arrival.
		{"b", true, "b"}, {"a", true, "a"}, {"7", true, "7"},
	} {
		require.Equal(t, c.further, p.advance(c.version), "%q", c.version)
		require.Equal(t, c.rv, p.rv, "%q", c.version)
	}
	p = position{rv: "9", doubt: true}
	p.advance("8")
	require.True(t, p.doubt, "an old version says nothing about the newest one")
	p.advance("10")
	require.False(t, p.doubt)
}
