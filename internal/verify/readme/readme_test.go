// Package readme_test keeps the programs of README.md and examples/START.md true:
// each is a file here, which is compiled and run like any other program.
package readme_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A block is announced by a comment with the name of its program.
var block = regexp.MustCompile("(?s)<!-- (part of )?program (\\w+) -->\n```go\n(.*?)```")

// printed is what each program prints on the embedded server.
var printed = map[string]string{
	"informer":   "Added default/colours\nthe sky is blue\n",
	"controller": "reconciling default/colours map[sky:blue]\n",
}

// blocks returns the Go blocks of a page, each with whether it is a part, the name
// of its program and the code.
func blocks(t *testing.T, page string) [][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", page))
	require.NoError(t, err)
	found := block.FindAllStringSubmatch(string(text), -1)
	require.Equal(t, strings.Count(string(text), "```go"), len(found), "every Go block of %s has the name of its program above it", page)
	return found
}

func TestStartShowsWholePrograms(t *testing.T) {
	t.Parallel()
	found := blocks(t, "examples/START.md")
	require.Len(t, found, len(printed))
	for _, b := range found {
		require.Empty(t, b[1], "a reader pastes them")
		source, err := os.ReadFile(filepath.Join(b[2], "main.go"))
		require.NoError(t, err)
		assert.Equal(t, string(source), b[3], "examples/START.md must show %s/main.go", b[2])
	}
}

func TestReadmeShowsAPartOfAProgram(t *testing.T) {
	t.Parallel()
	found := blocks(t, "README.md")
	require.Len(t, found, 1)
	require.NotEmpty(t, found[0][1])
	source, err := os.ReadFile(filepath.Join(found[0][2], "main.go"))
	require.NoError(t, err)
	assert.Contains(t, string(source), found[0][3], "README.md must show a part of %s/main.go", found[0][2])
}

// links finds the links of a page to files, without what follows #.
var links = regexp.MustCompile(`\]\(([^)#:, ]+)(#[^)]*)?\)`)

// What the first pages lead to exists.
func TestLinksOfTheFirstPages(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"README.md", "CONTRIBUTING.md", "examples/START.md", "examples/README.md", "examples/MIGRATION.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", page))
		require.NoError(t, err)
		for _, link := range links.FindAllStringSubmatch(string(text), -1) {
			_, err := os.Stat(filepath.Join("..", "..", "..", filepath.Dir(page), link[1]))
			assert.NoError(t, err, "%s leads to %s", page, link[1])
		}
	}
}

// anchored finds the links of a page to a heading of a file.
var anchored = regexp.MustCompile(`\]\(([^)#:, ]*)#([^)]+)\)`)

// What the first pages lead to within a page is a heading there.
func TestLinksOfTheFirstPagesLeadToHeadings(t *testing.T) {
	t.Parallel()
	found := 0
	for _, page := range []string{"README.md", "examples/START.md", "examples/README.md", "examples/MIGRATION.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", page))
		require.NoError(t, err)
		for _, link := range anchored.FindAllStringSubmatch(string(text), -1) {
			target := filepath.Join("..", "..", "..", filepath.Dir(page), link[1])
			if link[1] == "" {
				target = filepath.Join("..", "..", "..", page)
			}
			content, err := os.ReadFile(target)
			require.NoError(t, err)
			assert.Contains(t, anchors(string(content)), link[2], "%s leads to %s", page, link[0])
			found++
		}
	}
	assert.Greater(t, found, 10)
}

var notInAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

// anchors returns those of the headings of a page, as GitHub makes them.
func anchors(page string) (all []string) {
	for line := range strings.Lines(page) {
		if hashes, heading, ok := strings.Cut(strings.TrimSpace(line), " "); ok && hashes != "" && strings.Trim(hashes, "#") == "" {
			all = append(all, strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(heading), ""), " ", "-"))
		}
	}
	return all
}

// The first page has two screens.
func TestFirstPageIsShort(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../README.md")
	require.NoError(t, err)
	assert.LessOrEqual(t, strings.Count(string(text), "\n"), 120)
}

func TestProgramsOfThePagesRun(t *testing.T) {
	t.Parallel()
	for name, want := range printed {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			binary := filepath.Join(t.TempDir(), name)
			out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./"+name).CombinedOutput()
			require.NoError(t, err, "%s", out)
			out, err = exec.CommandContext(t.Context(), binary).Output() // what is logged goes to stderr
			require.NoError(t, err)
			assert.Equal(t, want, string(out))
		})
	}
}
