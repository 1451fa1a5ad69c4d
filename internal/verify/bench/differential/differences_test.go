package differential

import (
	"os"
	"regexp"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// difference names a row of the table in doc.go.
type difference string

// Those that the histories meet with. The others have tests of their own, whose
// names begin with the row's.
const (
	anotherObject    difference = "D1"
	unknownDeletion  difference = "D2"
	resyncTurns      difference = "D4"
	kindIsSet        difference = "D5"
	filteredUnseen   difference = "D7"
	delayOutlivesAdd difference = "Q1"
	delayWhileQueued difference = "Q2"
	syncedByAWrite   difference = "F1"
)

// tally counts how often each difference was met with.
type tally struct {
	mu sync.Mutex
	n  map[difference]int
}

func (c *tally) add(d difference, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[difference]int{}
	}
	c.n[d] += n
}

// require fails if one of the differences never happened in a run of some size:
// then client-go has changed, or the histories do not lead there.
func (c *tally) require(t *testing.T, all ...difference) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t.Logf("differences met with: %v", c.n)
	if *seedFlag != 0 || *forFlag != 0 || 0 < *seedsFlag && *seedsFlag < 100 {
		return
	}
	for _, d := range all {
		assert.Positive(t, c.n[d], "difference %s of doc.go never happened", d)
	}
}

// Every row of the table is asserted somewhere.
func TestEveryDifferenceOfTheTableIsAsserted(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^//\t([DQF]\d+)  `).FindAllStringSubmatch(string(doc), -1) {
		listed[m[1]] = true
	}
	asserted := map[string]bool{}
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	for _, f := range files {
		text, err := os.ReadFile(f.Name())
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`(?m)difference += "([DQF]\d+)"|^func Test([DQF]\d+)`).FindAllStringSubmatch(string(text), -1) {
			asserted[m[1]+m[2]] = true
		}
	}
	assert.Equal(t, listed, asserted)
	assert.NotEmpty(t, listed)
}
