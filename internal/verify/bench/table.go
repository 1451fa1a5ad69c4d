package bench

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// columns of the table.
var columns = []string{"work", "ours", "theirs", "peer", "ratio", "processor time", "of the limit", "target", "verdict"}

// cells are a line of the table.
func (r Report) cells(e Entry) []string {
	return []string{e.Work, e.Ours.Shown, e.Theirs.Shown, e.Theirs.Who, e.ratioAndNoise(), e.processorTime(), r.limit(e), e.Target, e.Verdict}
}

// processorTime is the ratio of the processor times of a row that compares time, which
// a busy machine disturbs less, and which shows what is paid for doing things in parallel.
func (e Entry) processorTime() string {
	if e.Unit != "ns" || !e.timed() {
		return ""
	}
	ratio := medianInterval(paired(processorTimes(e.Ours.Samples), processorTimes(e.Theirs.Samples)))
	return trim(ratio.mid) + "×"
}

// timed reports whether the runs have a processor time, as they have where a unit is counted.
func (e Entry) timed() bool {
	for _, s := range append(processorTimes(e.Ours.Samples), processorTimes(e.Theirs.Samples)...) {
		if s <= 0 {
			return false
		}
	}
	return len(e.Ours.Samples) > 0 && len(e.Theirs.Samples) > 0
}

func processorTimes(samples []Sample) []float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = s.CPU
	}
	return values
}

// limit is how far a row is from what cannot be surpassed, which another row has measured.
func (r Report) limit(e Entry) string {
	for _, other := range r.Entries {
		if e.Limit != "" && other.Name() == e.Limit {
			return fmt.Sprintf("%s of %s", other.ratio(), other.Theirs.Who)
		}
	}
	return ""
}

// WriteTable writes the report as a table for a terminal, by area.
func (r Report) WriteTable(w io.Writer) {
	fmt.Fprintf(w, "%s\n%s\n\n", r.Host, r.How)
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = utf8.RuneCountInString(c)
	}
	for _, e := range r.Entries {
		for i, c := range r.cells(e) {
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
		line(r.cells(e))
	}
}
