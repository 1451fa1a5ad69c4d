package deltafifo

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestQueueThatWasNotConstructedSaysSo(t *testing.T) {
	t.Parallel()
	for name, q := range map[string]face{
		"batch":   batchFace{&BatchFIFO[thing]{}},
		"classic": classicFace{&DeltaFIFO[thing]{}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.ErrorIs(t, q.Add(t.Context(), newThing("a", "1")), errNotMade)
			assert.ErrorIs(t, q.Replace(t.Context(), nil, "1"), errNotMade)
			assert.ErrorIs(t, q.pop(t.Context(), mustNotRun(t)), errNotMade)
			if q, ok := q.(classic); ok {
				assert.ErrorIs(t, q.AddIfNotPresent(Deltas[thing]{{Type: Added, Key: keyNamed("a"), Object: newThing("a", "1")}}), errNotMade)
				assert.ErrorIs(t, q.Resync(t.Context()), errNotMade)
				assert.Empty(t, q.List())
			}
			assert.ErrorIs(t, q.Bookmark(t.Context(), "1"), errNotMade)
			assert.False(t, q.HasSynced())
			assert.Zero(t, q.Len())
			q.Close()
		})
	}
}
