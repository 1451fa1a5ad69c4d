package indexer

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Promise indexer/4
func TestResourceVersionNeverGoesBack(t *testing.T) {
	t.Parallel()
	ix := newIndexer(t)
	for _, step := range []struct {
		set     string
		adopted bool
		now     string
	}{
		{"", false, ""},
		{"5", true, "5"},
		{"5", true, "5"},
		{"4", false, "5"},
		{"", false, "5"},
		{"10", true, "10"}, // numbers, not strings
		{"9", false, "10"},
		{"99999999999999999999999999", true, "99999999999999999999999999"}, // of any length
		{"18446744073709551615", false, "99999999999999999999999999"},
		{"not-a-number", true, "not-a-number"}, // cannot be compared: adopted
		{"3", true, "3"},
		{"0", false, "3"}, // not a version of anything: to adopt it would let 2 in
		{"2", false, "3"},
	} {
		b := ix.Batch()
		require.Equal(t, step.adopted, b.SetResourceVersion(step.set), "%+v", step)
		require.Equal(t, step.now, b.next.ResourceVersion())
		b.Commit()
		require.Equal(t, step.now, ix.Snapshot().ResourceVersion(), "%+v", step)
	}
}

// Promise indexer/4
func TestObjectsDoNotMoveTheResourceVersion(t *testing.T) {
	t.Parallel()
	ix := newIndexer(t)
	p := newPod("a", "b")
	p.ResourceVersion = "77"
	set(t, ix, p)
	require.Empty(t, ix.Snapshot().ResourceVersion(), "only the writer knows what the store as a whole has reached")
}
