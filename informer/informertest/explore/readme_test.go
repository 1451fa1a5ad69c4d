package explore_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The README shows the test that runs, and names the faults and rules that there are.
func TestTheREADMEShowsWhatRuns(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	source, err := os.ReadFile("example_test.go")
	require.NoError(t, err)
	shown := regexp.MustCompile("(?s)```go\n(.*?)```").FindStringSubmatch(string(readme))
	require.NotNil(t, shown)
	assert.Contains(t, string(source), strings.TrimSpace(shown[1]))
	schedule, err := os.ReadFile("schedule.go")
	require.NoError(t, err)
	for _, name := range regexp.MustCompile(`= +"([a-z0-9-]+)"\n`).FindAllStringSubmatch(string(schedule), -1) {
		assert.Contains(t, string(readme), "`"+name[1]+"@", "a fault")
	}
	rules, err := os.ReadFile("rules.go")
	require.NoError(t, err)
	for _, name := range regexp.MustCompile(`rule[A-Z]\w+ += +"([a-z-]+)"\n`).FindAllStringSubmatch(string(rules), -1) {
		if name[1] != "always" && name[1] != "eventually" {
			assert.Contains(t, string(readme), "`"+name[1]+"`", "a rule")
		}
	}
}
