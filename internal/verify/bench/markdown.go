package bench

import (
	"fmt"
	"io"
	"strings"
)

// WriteMarkdown writes the report for a document: what it was measured on, and by
// area a table and what its rows mean.
func (r Report) WriteMarkdown(w io.Writer) {
	fmt.Fprintf(w, "%s; %s.\n", strings.ReplaceAll(r.Host.String(), "\n", "; "), r.How)
	for entries := r.Entries; len(entries) > 0; {
		n := 1
		for n < len(entries) && entries[n].Area == entries[0].Area {
			n++
		}
		r.writeArea(w, entries[:n])
		entries = entries[n:]
	}
}

// writeArea writes entries of one area.
func (r Report) writeArea(w io.Writer, entries []Entry) {
	line := func(cells []string) { fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | ")) }
	fmt.Fprintf(w, "\n### %s\n\n", entries[0].Area)
	line(columns)
	line([]string{"---", "---:", "---:", "---", "---:", "---:", "---:", "---", "---"})
	for _, e := range entries {
		line(r.cells(e))
	}
	fmt.Fprint(w, "\n<details><summary>What the rows mean</summary>\n\n")
	for _, e := range entries {
		fmt.Fprintf(w, "- **%s**: %s", e.Work, e.Does)
		if e.Host != nil {
			fmt.Fprintf(w, " Measured on another machine: %s.", strings.ReplaceAll(e.Host.String(), "\n", "; "))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprint(w, "\n</details>\n")
}
