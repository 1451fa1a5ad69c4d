package bench

import (
	"errors"
	"fmt"
	"strings"
)

// What marks the figures in a document.
const (
	tablesBegin = "<!-- compare -->\n"
	tablesEnd   = "<!-- /compare -->\n"
	lineBegin   = "<!-- compare: "
	lineEnd     = " -->"
)

// Update returns a document in Markdown with the figures of the report. There are
// two kinds of places for them. Whole tables stand between two comments:
//
//	<!-- compare -->
//	…
//	<!-- /compare -->
//
// And a line of a table of its own, of four columns, shows one row, which a
// comment in its first column names:
//
//	| a key through the queue <!-- compare: queue: add+get+done, one goroutine --> | 62 ns | 190 ns | 3× |
//
// It is an error if the document has no place at all, and if a row is not in the
// report.
func Update(document string, rep Report) (string, error) {
	var out strings.Builder
	found := false
	for rest := document; rest != ""; {
		line, after := cutLine(rest)
		rest = after
		switch {
		case line == tablesBegin:
			_, after, ok := strings.Cut(rest, tablesEnd)
			if !ok {
				return "", fmt.Errorf("updating a document: no %q follows %q", strings.TrimSpace(tablesEnd), strings.TrimSpace(tablesBegin))
			}
			rest, found = after, true
			out.WriteString(tablesBegin + "\n")
			rep.WriteMarkdown(&out)
			out.WriteString("\n" + tablesEnd)
		case strings.Contains(line, lineBegin):
			updated, err := rep.updateLine(line)
			if err != nil {
				return "", err
			}
			found = true
			out.WriteString(updated)
		default:
			out.WriteString(line)
		}
	}
	if !found {
		return "", errors.New("updating a document: it has no place for figures, neither for tables nor for a row")
	}
	return out.String(), nil
}

// cutLine returns the first line, with its end.
func cutLine(s string) (line, rest string) {
	line, rest, ok := strings.Cut(s, "\n")
	if ok {
		line += "\n"
	}
	return line, rest
}

// updateLine fills in the line of a table.
func (r Report) updateLine(line string) (string, error) {
	first, after, _ := strings.Cut(line, lineBegin)
	name, _, ok := strings.Cut(after, lineEnd)
	if !ok || !strings.HasPrefix(first, "| ") {
		return "", fmt.Errorf("updating a document: %q is not a line of a table with a comment in its first column", strings.TrimSpace(line))
	}
	for _, e := range r.Entries {
		if e.Name() == name {
			return fmt.Sprintf("%s%s%s%s | %s | %s | %s |\n", first, lineBegin, name, lineEnd,
				e.Ours.figure(), e.Theirs.figure(), e.ratio()), nil
		}
	}
	return "", fmt.Errorf("updating a document: there is no result of %q", name)
}

// figure is what is shown without what else was counted.
func (o ReportOutcome) figure() string {
	figure, _, _ := strings.Cut(o.Shown, ", ")
	return figure
}
