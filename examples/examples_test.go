//go:build !race

// The programs are built without the race detector, so one run of them is enough.

package examples

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the output of the examples to their testdata/once.golden")

// Each example, as a program of its own: it ends with status 0, logs nothing, and
// prints what it printed when its output was recorded; and what the READMEs show
// is part of that.
func TestEachExamplePrintsWhatItsReadmeShows(t *testing.T) {
	tour, err := os.ReadFile("README.md")
	require.NoError(t, err)

	for _, name := range names(t) {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			cmd := exec.CommandContext(t.Context(), binary(t, name), "-once")
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			require.NoError(t, cmd.Run(), stderr.String())
			assert.Empty(t, stderr.String(), "what goes well needs no log")

			golden := filepath.Join(name, "testdata", "once.golden")
			if *update {
				require.NoError(t, os.MkdirAll(filepath.Dir(golden), 0o755))
				require.NoError(t, os.WriteFile(golden, stdout.Bytes(), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err, "go test ./examples -update makes it")
			compare(t, paragraphs(string(want)), paragraphs(stdout.String()))

			readme, err := os.ReadFile(filepath.Join(name, "README.md"))
			require.NoError(t, err)
			assert.NotZero(t, checkShown(t, "output", string(readme), string(want)), "the README shows some of the output")
			checkShown(t, name, string(tour), string(want))
		})
	}
}

// compare compares two outputs. The lines of one actor have one order. Those of
// several, between two things that the user does, may come in any, as far as
// nothing of that follows from the other; the verdict comes last.
func compare(t *testing.T, want, got [][]string) {
	t.Helper()
	assert.Equal(t, byActor(want), byActor(got))
	if !assert.Equal(t, len(want), len(got), "paragraphs") {
		return
	}
	for i := range want {
		assert.ElementsMatch(t, want[i], got[i])
		if last := len(want[i]) - 1; actor(want[i][last]) == "demo" && len(got[i]) == len(want[i]) {
			assert.Equal(t, "demo", actor(got[i][last]), "the verdict comes last: %v", got[i])
		}
	}
}

func byActor(paragraphs [][]string) map[string][]string {
	lines := map[string][]string{}
	for _, line := range slices.Concat(paragraphs...) {
		lines[actor(line)] = append(lines[actor(line)], line)
	}
	return lines
}

func actor(line string) string {
	who, _, _ := strings.Cut(line, "\x00")
	return who
}

// paragraphs splits an output at its empty lines.
func paragraphs(out string) (all [][]string) {
	for paragraph := range strings.SplitSeq(strings.Trim(out, "\n"), "\n\n") {
		var lines []string
		for line := range strings.Lines(paragraph) {
			lines = append(lines, shape(line))
		}
		all = append(all, lines)
	}
	return all
}

var (
	step      = regexp.MustCompile(`^ *[0-9.]+s  (.{10,}?)  `)
	durations = regexp.MustCompile(`\b([0-9]+m)?[0-9]+(\.[0-9]+)?(m|µ)?s\b`)
	sizes     = regexp.MustCompile(` *[0-9.]+ (B|kB|MB)\b`)
	addresses = regexp.MustCompile(`127\.0\.0\.1:[0-9]+`)
	random    = regexp.MustCompile(`\b(web|replica)-[a-z0-9]{5}\b`)
)

// shape returns a line without what differs from run to run; of a demo, the
// actor, a zero byte and the text.
func shape(line string) string {
	line = strings.TrimRight(line, "\n")
	who := ""
	if match := step.FindStringSubmatch(line); match != nil {
		who = strings.TrimSpace(match[1])
		line = line[len(match[0]):]
	}
	line = durations.ReplaceAllString(line, "T")
	line = sizes.ReplaceAllString(line, " SIZE")
	line = addresses.ReplaceAllString(line, "ADDRESS")
	line = random.ReplaceAllString(line, "$1-N")
	return who + "\x00" + strings.TrimSpace(line)
}

var block = regexp.MustCompile("(?s)<!-- ([a-z]+) -->\n```\n(.*?)```\n")

// checkShown fails t for each line that a page shows in blocks of this name and
// that the output does not have, and returns how many lines it shows.
func checkShown(t *testing.T, name, page, out string) (shown int) {
	t.Helper()
	has := map[string]bool{}
	for line := range strings.Lines(out) {
		has[shape(line)] = true
	}
	for _, match := range block.FindAllStringSubmatch(page, -1) {
		if match[1] != name {
			continue
		}
		for line := range strings.Lines(match[2]) {
			if line == "\n" {
				continue
			}
			shown++
			assert.True(t, has[shape(line)], "%s: not in the output: %s", name, line)
		}
	}
	return shown
}
