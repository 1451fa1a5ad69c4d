package bench

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// columns of the table.
var columns = []string{"work", "ours", "theirs", "", "ratio", "target", "verdict"}

func (r Result) cells() []string {
	return []string{
		r.Row.Work, r.Row.describe(r.Ours), r.Row.describe(r.Theirs), r.Row.Theirs.Who,
		r.ratio(), r.Row.target(), r.verdict(),
	}
}

// WriteTable writes the results as a table for a terminal, by area.
func WriteTable(w io.Writer, results []Result) {
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = utf8.RuneCountInString(c)
	}
	for _, r := range results {
		for i, c := range r.cells() {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	line := func(cells []string) {
		var b strings.Builder
		for i, c := range cells {
			fmt.Fprintf(&b, "  %s%s", c, strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c)))
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
	line(columns)
	area := ""
	for _, r := range results {
		if r.Row.Area != area {
			area = r.Row.Area
			fmt.Fprintf(w, "%s\n", area)
		}
		line(r.cells())
	}
}

// WriteMarkdown writes the results as tables for a document, one per area.
func WriteMarkdown(w io.Writer, results []Result) {
	line := func(cells []string) { fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | ")) }
	area := ""
	for _, r := range results {
		if r.Row.Area != area {
			area = r.Row.Area
			fmt.Fprintf(w, "\n### %s\n\n", area)
			line(columns)
			line([]string{"---", "---", "---", "---", "---", "---", "---"})
		}
		line(r.cells())
	}
}
