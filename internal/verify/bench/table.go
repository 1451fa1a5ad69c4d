package bench

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// columns of the table.
var columns = []string{"work", "ours", "theirs", "peer", "ratio", "target", "verdict"}

func (e Entry) cells() []string {
	return []string{e.Work, e.Ours.Shown, e.Theirs.Shown, e.Theirs.Who, e.ratioAndNoise(), e.Target, e.Verdict}
}

// WriteTable writes the report as a table for a terminal, by area.
func (r Report) WriteTable(w io.Writer) {
	fmt.Fprintf(w, "%s\n%s\n\n", r.Host, r.How)
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = utf8.RuneCountInString(c)
	}
	for _, e := range r.Entries {
		for i, c := range e.cells() {
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
	for _, e := range r.Entries {
		if e.Area != area {
			area = e.Area
			fmt.Fprintf(w, "%s\n", area)
		}
		line(e.cells())
	}
}
