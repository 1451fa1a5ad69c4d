package measure

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
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

// WriteJSON writes results for programs, and for a review of their changes.
func WriteJSON(w io.Writer, results any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(results)
}

// Duration writes nanoseconds with three digits.
func Duration(v float64) string { return Scaled(v, "s", " n", " µ", " m", " ") }

// Bytes writes bytes with three digits.
func Bytes(v float64) string { return Scaled(v, "B", " ", " k", " M", " G") }

// Scaled writes v with three digits and the prefix that suits it, each a thousand times
// the one before.
func Scaled(v float64, unit string, prefixes ...string) string {
	for len(prefixes) > 1 && math.Abs(v) >= 999.5 {
		v /= 1000
		prefixes = prefixes[1:]
	}
	digits := 0
	switch size := math.Abs(v); {
	case size < 9.995:
		digits = 2
	case size < 99.95:
		digits = 1
	}
	return fmt.Sprintf("%.*f%s%s", digits, v, prefixes[0], unit)
}
