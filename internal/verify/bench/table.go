package bench

import (
	"fmt"
	"io"
	"strings"

	"github.com/informerkit/informerkit/internal/verify/measure"
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
	return trim(measure.Median(measure.Quotients(processorTimes(e.Theirs.Samples), processorTimes(e.Ours.Samples)))) + "×"
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
	return measure.Column(samples, func(s Sample) float64 { return s.CPU })
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
	fmt.Fprintf(w, "%s\n%s\n", r.Host, r.How)
	r.byArea(func(area string, entries []Entry, t measure.Table) {
		fmt.Fprintf(w, "\n%s\n", area)
		t.WriteText(w)
	})
}

// WriteMarkdown writes the report for a document: what it was measured on, and by
// area a table and what its rows mean.
func (r Report) WriteMarkdown(w io.Writer) {
	fmt.Fprintf(w, "%s; %s.\n", strings.ReplaceAll(r.Host.String(), "\n", "; "), r.How)
	r.byArea(func(area string, entries []Entry, t measure.Table) {
		fmt.Fprintf(w, "\n### %s\n\n", area)
		t.WriteMarkdown(w)
		fmt.Fprint(w, "\n<details><summary>What the rows mean</summary>\n\n")
		for _, e := range entries {
			fmt.Fprintf(w, "- **%s**: %s", e.Work, e.Does)
			if e.Host != nil {
				fmt.Fprintf(w, " Measured on another machine: %s.", strings.ReplaceAll(e.Host.String(), "\n", "; "))
			}
			fmt.Fprintln(w)
		}
		fmt.Fprint(w, "\n</details>\n")
	})
}

// byArea calls f with the entries of each area, and the table of them.
func (r Report) byArea(f func(area string, entries []Entry, t measure.Table)) {
	for entries := r.Entries; len(entries) > 0; {
		n := 1
		for n < len(entries) && entries[n].Area == entries[0].Area {
			n++
		}
		t := measure.Table{Header: columns, Left: []int{0, 3, 7, 8}}
		for _, e := range entries[:n] {
			t.Add(r.cells(e)...)
		}
		f(entries[0].Area, entries[:n], t)
		entries = entries[n:]
	}
}
