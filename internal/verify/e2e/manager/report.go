package manager

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/informerkit/informerkit/internal/verify/measure"
)

// Report is what [Compare] has found.
type Report struct {
	options Options
	runs    [2][]run
}

// Same returns an error that says how the final states differ, nil if they do not. All
// runs have to be alike, of either side.
func (r *Report) Same() error {
	var errs []error
	first := r.runs[theirs][0].state
	for side, runs := range r.runs {
		for i, run := range runs {
			for _, line := range difference(first.objects, run.state.objects) {
				errs = append(errs, fmt.Errorf("the first run and run %d with %s differ: %s", i+1, env[side], line))
			}
		}
	}
	return errors.Join(errs...)
}

// row is one figure of both sides; lower is better.
type row struct {
	name, unit string
	of         func(r run) float64
}

func (r *Report) rows() []row {
	const mb = 1e6
	rows := []row{
		{"heap after a garbage collection, before the script", "MB", func(r run) float64 { return r.steady.heap / mb }},
		{"heap after a garbage collection, after it", "MB", func(r run) float64 { return r.end.heap / mb }},
		{"goroutines", "", func(r run) float64 { return r.steady.goroutines }},
		{"processor time of the run", "s", func(r run) float64 { return r.cpu.Seconds() }},
		{"at rest after its start", "s", func(r run) float64 { return r.times[0].Seconds() }},
	}
	for i, st := range slices.Concat(steps, []step{last}) {
		rows = append(rows, row{"at rest after: " + st.name, "s", func(r run) float64 { return r.times[i+1].Seconds() }})
	}
	verbs := map[string]bool{}
	for _, runs := range r.runs {
		for _, run := range runs {
			for verb := range run.requests {
				verbs[verb] = true
			}
		}
	}
	rows = append(rows, row{"requests, spot checks apart", "", func(r run) float64 {
		sum := -r.requests["spot check"]
		for _, n := range r.requests {
			sum += n
		}
		return float64(sum)
	}})
	for _, verb := range slices.Sorted(maps.Keys(verbs)) {
		rows = append(rows, row{"requests: " + verb, "", func(r run) float64 { return float64(r.requests[verb]) }})
	}
	return rows
}

// Write prints the table: the median of each side, and their relation.
func (r *Report) Write(out io.Writer, markdown bool) {
	table := measure.Table{Header: []string{"", "client-go", "informerkit", "relation"}, Left: []int{0}}
	for _, row := range r.rows() {
		var medians [2]float64
		for side, runs := range r.runs {
			medians[side] = measure.Median(measure.Column(runs, row.of))
		}
		digits := 0
		if row.unit == "s" || row.unit == "MB" {
			digits = 1
		}
		relation := "–"
		if medians[theirs] > 0 {
			relation = fmt.Sprintf("%.2f×", medians[ours]/medians[theirs])
		}
		cell := func(v float64) string { return strings.TrimSpace(fmt.Sprintf("%.*f %s", digits, v, row.unit)) }
		table.Add(row.name, cell(medians[theirs]), cell(medians[ours]), relation)
	}
	if markdown {
		table.WriteMarkdown(out)
	} else {
		table.WriteText(out)
	}
	objects := 0
	for _, n := range r.runs[theirs][0].state.objects {
		objects += n
	}
	fmt.Fprintf(out, "\n%d pods, equal parts stored once: %t; medians of %d runs, %s. Compared at the end of the script: %d objects.\n",
		r.options.Pods, r.options.Share, r.options.Rounds, time.Now().Format(time.DateOnly), objects)
	for i := range r.options.Rounds {
		for _, line := range difference(r.runs[theirs][i].state.events, r.runs[ours][i].state.events) {
			fmt.Fprintf(out, "Events of round %d, client-go's and ours: %s\n", i+1, line)
		}
	}
}
