package reconcile

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/informerkit/informerkit/internal/verify/measure"
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
	fmt.Fprintln(w, r.head())
	r.byArea(func(heading string, t measure.Table) {
		fmt.Fprintf(w, "\n%s\n", heading)
		t.WriteText(w)
	})
}

// WriteMarkdown writes the report for a document.
func (r *Report) WriteMarkdown(w io.Writer) {
	fmt.Fprintln(w, strings.ReplaceAll(r.head(), "\n", "  \n"))
	r.byArea(func(heading string, t measure.Table) {
		fmt.Fprintf(w, "\n### %s\n\n", heading)
		t.WriteMarkdown(w)
	})
}

// byArea calls f with the table of each area. Only those with a limit have its columns,
// which are the last.
func (r *Report) byArea(f func(heading string, t measure.Table)) {
	for rows := r.Rows; len(rows) > 0; {
		area, n := rows[0].Area, 0
		t := measure.Table{Header: columns[:len(columns)-2], Left: []int{0}}
		for ; n < len(rows) && rows[n].Area == area; n++ {
			if rows[n].Alone != nil {
				t.Header = columns
			}
		}
		for _, row := range rows[:n] {
			t.Add(row.cells()[:len(t.Header)]...)
		}
		f(r.heading(area), t)
		rows = rows[n:]
	}
}

// WriteJSON writes the report with the figures of every round, for programs.
func (r *Report) WriteJSON(w io.Writer) error { return measure.WriteJSON(w, r) }

// cells returns the text of a row.
func (row *Row) cells() []string {
	alone := ""
	if row.Alone != nil {
		alone = row.Unit.format(measure.Median(row.Alone))
	}
	return []string{
		row.Work, row.Unit.format(measure.Median(row.Ours)), row.Unit.format(measure.Median(row.ClientGo)), show(row.Ratio),
		alone, show(row.Most),
	}
}

// show writes the median and the range.
func show(r *measure.Interval) string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf("%.2f× (%.2f–%.2f)", r.Median, r.Low, r.High)
}

// format writes a figure for people.
func (u Unit) format(v float64) string {
	switch u {
	case Nanoseconds:
		return measure.Duration(v)
	case Bytes:
		return measure.Bytes(v)
	case PerSecond:
		return measure.Scaled(v, "/s", "", "k", "M")
	default:
		return number(v)
	}
}

// number writes a count: exactly if it is small.
func number(v float64) string {
	if math.Abs(v) >= 10_000 {
		return measure.Scaled(v, "", "", "k", "M", "G")
	}
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", v), "0"), ".")
}
