package object_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/deltafifo"
	"github.com/informerkit/informerkit/indexer"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/internal/object"
)

// It compiles because the four are one type.
func TestOneChangeTypeInAllPackages(t *testing.T) {
	t.Parallel()
	for name, same := range map[string][]object.ChangeType{
		"Added":   {object.Added, indexer.Added, informer.Added, deltafifo.Added},
		"Updated": {object.Updated, indexer.Updated, informer.Updated, deltafifo.Updated},
		"Deleted": {object.Deleted, indexer.Deleted, informer.Deleted, deltafifo.Deleted},
	} {
		for _, typ := range same {
			assert.Equal(t, same[0], typ)
			assert.Equal(t, name, typ.String())
		}
	}
}

func TestChangeTypesPrintAsTheirNames(t *testing.T) {
	t.Parallel()
	all := []object.ChangeType{object.Added, object.Updated, object.Deleted, object.Replaced, object.Sync, object.Bookmark, 99}
	assert.Equal(t, "[Added Updated Deleted Replaced Sync Bookmark ChangeType(99)]", fmt.Sprint(all))
	encoded, err := json.Marshal(map[string]object.ChangeType{"type": object.Bookmark})
	require.NoError(t, err)
	assert.JSONEq(t, `{"type":"Bookmark"}`, string(encoded))
}
