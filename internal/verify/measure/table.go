package measure

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Table is rows of cells under a header.
type Table struct {
	Header []string
	Rows   [][]string
	// Left are the columns of words, which begin at their left; numbers end at their right.
	Left []int
}

// Add appends a row.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

// WriteMarkdown writes the table for a page.
func (t Table) WriteMarkdown(w io.Writer) {
	marks := make([]string, len(t.Header))
	for i := range marks {
		marks[i] = "---:"
		if slices.Contains(t.Left, i) {
			marks[i] = "---"
		}
	}
	for _, cells := range append([][]string{t.Header, marks}, t.Rows...) {
		fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
	}
}

// WriteText writes the table for a terminal.
func (t Table) WriteText(w io.Writer) {
	columns := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	for _, cells := range append([][]string{t.Header}, t.Rows...) {
		fmt.Fprintln(columns, strings.Join(cells, "\t"))
	}
	_ = columns.Flush() // w is memory, or a terminal
}
