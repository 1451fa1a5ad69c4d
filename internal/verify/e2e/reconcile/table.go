package reconcile

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

var columns = []string{"work", string(Ours), string(ClientGo), "ratio", string(RequestsAlone), "ratio to them"}

// headings say what was done in an area.
func (r *Report) heading(area string) string {
	s := r.Settings
	switch area {
	case areaLatency:
		return fmt.Sprintf("latency from sending the write, %d creates and %d scales at %s/s", s.Writes, s.Writes, number(s.Rate))
	case areaThroughput:
		return fmt.Sprintf("throughput, %d sets of %d pods created at once", s.Sets, s.Replicas)
	case areaRestart:
		return fmt.Sprintf("restart over %d objects, %d sets of %d pods", s.OldSets*(1+s.OldReplicas), s.OldSets, s.OldReplicas)
	default:
		return "requests of the controller during throughput"
	}
}

// head says what was measured, on what and how.
func (r *Report) head() string {
	return fmt.Sprintf("%s\nmedian of %d runs each, alternating; %d workers; ratio is client-go over ours (ours over client-go for a rate), more than 1 is better, with the range within which it is certain; the ratio to the requests alone is client-go over them, the most that ours could reach",
		r.Host, r.Settings.Rounds, r.Settings.Workers)
}

// WriteTable writes the report for a terminal.
func (r *Report) WriteTable(w io.Writer) {
	widths := make([]int, len(columns))
	for _, cells := range append([][]string{columns}, r.cells()...) {
		for i, c := range cells {
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
	fmt.Fprintf(w, "%s\n\n", r.head())
	line(columns)
	area := ""
	for i, cells := range r.cells() {
		if r.Rows[i].Area != area {
			area = r.Rows[i].Area
			fmt.Fprintln(w, r.heading(area))
		}
		line(cells)
	}
}

// WriteMarkdown writes the report for a document.
func (r *Report) WriteMarkdown(w io.Writer) {
	line := func(cells []string) { fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | ")) }
	fmt.Fprintln(w, strings.ReplaceAll(r.head(), "\n", "  \n"))
	area, shown := "", 0
	for i, cells := range r.cells() {
		if r.Rows[i].Area != area {
			area = r.Rows[i].Area
			shown = r.columnsOf(area)
			fmt.Fprintf(w, "\n### %s\n\n", r.heading(area))
			line(columns[:shown])
			line(slices.Repeat([]string{"---"}, shown))
		}
		line(cells[:shown])
	}
}

// columnsOf returns how many columns an area fills: those of the limit are the last.
func (r *Report) columnsOf(area string) int {
	limited := slices.ContainsFunc(r.Rows, func(row *Row) bool { return row.Area == area && row.Alone != nil })
	if limited {
		return len(columns)
	}
	return len(columns) - 2
}

// WriteJSON writes the report with the figures of every round, for programs.
func (r *Report) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

// cells returns the text of all rows.
func (r *Report) cells() [][]string {
	all := make([][]string, len(r.Rows))
	for i, row := range r.Rows {
		alone := ""
		if row.Alone != nil {
			alone = row.Unit.format(median(row.Alone))
		}
		all[i] = []string{
			row.Work, row.Unit.format(median(row.Ours)), row.Unit.format(median(row.ClientGo)), row.Ratio.String(),
			alone, row.Most.String(),
		}
	}
	return all
}

// String writes the median and the range.
func (r *Ratio) String() string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf("%.2f× (%.2f–%.2f)", r.Median, r.Low, r.High)
}

// format writes a figure for people.
func (u Unit) format(v float64) string {
	switch u {
	case Nanoseconds:
		return scaled(v, "s", " n", " µ", " m", " ")
	case Bytes:
		return scaled(v, "B", " ", " k", " M", " G")
	case PerSecond:
		return scaled(v, "/s", "", "k", "M")
	default:
		return number(v)
	}
}

// scaled writes v with three digits and the prefix that suits it.
func scaled(v float64, unit string, prefixes ...string) string {
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

// number writes a count: exactly if it is small.
func number(v float64) string {
	if math.Abs(v) >= 10_000 {
		return scaled(v, "", "", "k", "M", "G")
	}
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", v), "0"), ".")
}
