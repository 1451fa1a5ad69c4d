package exampletest

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

var (
	block  = regexp.MustCompile("(?s)<!-- ([a-z]+) -->\n```\n(.*?)```\n")
	times  = regexp.MustCompile(`\b([0-9]+m)?[0-9.]+m?s\b`)
	random = regexp.MustCompile(`\bweb-[a-z0-9]{5}\b`)
)

// CheckTour fails t for each line that the guided tour, in the file readme, shows
// of an example and that its output out does not have. Times and generated names
// may differ.
func CheckTour(t testing.TB, readme, example, out string) {
	t.Helper()
	tour, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	has := map[string]bool{}
	for line := range strings.Lines(out) {
		has[shape(line)] = true
	}
	shown := 0
	for _, match := range block.FindAllStringSubmatch(string(tour), -1) {
		if match[1] != example {
			continue
		}
		for line := range strings.Lines(match[2]) {
			shown++
			if !has[shape(line)] {
				t.Errorf("%s shows a line that %s does not print: %s", readme, example, line)
			}
		}
	}
	if shown == 0 {
		t.Errorf("%s shows nothing of the output of %s", readme, example)
	}
}

// shape returns a line without what differs from run to run.
func shape(line string) string {
	line = random.ReplaceAllString(times.ReplaceAllString(line, "T"), "web-N")
	return strings.Join(strings.Fields(line), " ")
}
