package readme_test

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Versions below have known vulnerabilities that this code reaches: one malformed HTTP/2 frame
// stops every informer of a connection. Raise a floor when govulncheck names another.
var floors = map[string]int{"golang.org/x/net": 55, "golang.org/x/text": 39}

var required = regexp.MustCompile(`(?m)^\s*(?:require )?(golang\.org/x/\w+) v0\.(\d+)\.`)

// below returns what a go.mod requires in a version that is too old.
func below(gomod string) (old []string) {
	for _, m := range required.FindAllStringSubmatch(gomod, -1) {
		if minor, err := strconv.Atoi(m[2]); err != nil || minor < floors[m[1]] {
			old = append(old, strings.TrimSpace(m[0]))
		}
	}
	return old
}

// All modules but those below internal/verify/e2e/controlplane. Those contain no code and are never imported. They pin the
// servers and clients that the end-to-end tests start on the loopback interface, in the versions of their releases.
func TestModulesRequireVersionsWithoutKnownVulnerabilities(t *testing.T) {
	list, err := exec.CommandContext(t.Context(), "git", "-C", "../../..", "ls-files", "go.mod", "*/go.mod").Output()
	require.NoError(t, err)
	root := false
	for _, file := range strings.Fields(string(list)) {
		if strings.HasPrefix(file, "internal/verify/e2e/controlplane/") {
			continue
		}
		text, err := os.ReadFile("../../../" + file)
		require.NoError(t, err)
		assert.Empty(t, below(string(text)), file)
		root = root || file == "go.mod" && required.Match(text)
	}
	assert.True(t, root, "the go.mod of the root requires x/net and x/text")
	assert.Len(t, below("require (\n\tgolang.org/x/net v0.49.0 // indirect\n\tgolang.org/x/text v0.40.0\n)\nrequire golang.org/x/text v0.33.0"), 2)
}
