package bench

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDocumentGetsTheTables(t *testing.T) {
	t.Parallel()
	before := "# Title\n\n<!-- compare -->\nold\n<!-- /compare -->\n\nThe end"
	after, err := Update(before, testReport())
	require.NoError(t, err)
	require.Equal(t, "# Title\n\n<!-- compare -->\n\n"+testTables+"\n<!-- /compare -->\n\nThe end", after)

	again, err := Update(after, testReport())
	require.NoError(t, err)
	require.Equal(t, after, again)
}

func TestDocumentGetsTheFiguresOfARow(t *testing.T) {
	t.Parallel()
	after, err := Update(`
| work | ours | theirs | |
|---|---|---|---|
| a kilobyte <!-- compare: test: allocate --> |
| another <!-- compare: memory: allocate --> | 1 kB | 3 kB | 3× |
| by hand | 1 | 2 | 2× |
`, testReport())
	require.NoError(t, err)
	require.Equal(t, `
| work | ours | theirs | |
|---|---|---|---|
| a kilobyte <!-- compare: test: allocate --> | 1.00 µs | 2.00 µs | 2× |
| another <!-- compare: memory: allocate --> | 1.00 kB | 2.00 kB | 2× |
| by hand | 1 | 2 | 2× |
`, after)
}

func TestDocumentThatCannotBeUpdated(t *testing.T) {
	t.Parallel()
	for document, want := range map[string]string{
		"":                                  "no place for figures",
		"# Title\n":                         "no place for figures",
		"<!-- compare -->\n":                "no \"<!-- /compare -->\" follows",
		"| a <!-- compare: test: free -->":  "there is no result of \"test: free\"",
		"<!-- compare: test: allocate -->":  "not a line of a table",
		"| a <!-- compare: test: allocate ": "not a line of a table",
	} {
		_, err := Update(document, testReport())
		require.ErrorContains(t, err, want, "%q", document)
	}
}
