package reconcile

import (
	"maps"
	"slices"

	"github.com/informerkit/informerkit/internal/verify/measure"
)

// Unit is what a figure counts.
type Unit string

// The units.
const (
	Nanoseconds Unit = "ns"
	Bytes       Unit = "B"
	PerSecond   Unit = "1/s"
	Count       Unit = ""
)

// Row is one line of the table.
type Row struct {
	Area string `json:"area"`
	Work string `json:"work"`
	Unit Unit   `json:"unit"`
	// Ours and ClientGo hold a figure for each round.
	Ours     []float64 `json:"informerkit"`
	ClientGo []float64 `json:"clientGo"`
	// Alone are the figures of [RequestsAlone], where these are a limit of both sides.
	Alone []float64 `json:"requestsAlone,omitempty"`
	// Ratio is by how much ours is the better side, more than 1 if it is, taken within
	// each round: its median, and the range that holds the true one. It is absent where neither more nor less is better.
	Ratio *measure.Interval `json:"ratio,omitempty"`
	// Most is what Ratio would be if ours took nothing beyond the requests.
	Most *measure.Interval `json:"most,omitempty"`

	better  better
	limited bool // whether the requests alone are a limit
}

// better says which figure is.
type better int

const (
	less better = iota
	more
	neither
)

// The areas of the table.
const (
	areaLatency    = "latency"
	areaThroughput = "throughput"
	areaRestart    = "restart"
	areaRequests   = "requests"
)

// Works of which the code that measures and the table must have the same idea.
const (
	workConverge    = "time until all have converged"
	workPods        = "pods made"
	workReconciles  = "reconciles"
	workPerSet      = "reconciles per set"
	workCPU         = "processor time"
	workAllocations = "allocations"
	workBytes       = "bytes allocated"
	workLive        = "live heap and stacks afterwards"
	workBeyond      = " beyond the requests" // what is left of a work without them
	workSynced      = "process start → caches synced"
	workIdle        = "process start → every set looked at"
)

// The moments of a write, in their order.
const (
	toAnswer     = " → answered"
	toHandler    = " → handler"
	toReconcile  = " → reconcile begins"
	toDone       = " → reconciled"
	afterAnswers = " answered → handler"
)

// layout returns the rows of the table but for those of the requests.
func layout() []*Row {
	var rows []*Row
	for _, kind := range writeKinds {
		for _, moment := range []string{toAnswer, toHandler, toReconcile, toDone, afterAnswers} {
			for _, p := range percentiles {
				row := &Row{Area: areaLatency, Work: kind + moment + p.name, Unit: Nanoseconds}
				if moment == toAnswer || moment == afterAnswers {
					row.better = neither // the server's doing, and a difference that may be less than zero
				}
				rows = append(rows, row)
			}
		}
	}
	return append(rows,
		&Row{Area: areaThroughput, Work: workConverge, Unit: Nanoseconds},
		&Row{Area: areaThroughput, Work: workPods, Unit: PerSecond, better: more},
		&Row{Area: areaThroughput, Work: workReconciles, Unit: PerSecond, better: neither},
		&Row{Area: areaThroughput, Work: workPerSet, Unit: Count, better: neither},
		&Row{Area: areaThroughput, Work: workCPU, Unit: Nanoseconds, limited: true},
		&Row{Area: areaThroughput, Work: workAllocations, Unit: Count, limited: true},
		&Row{Area: areaThroughput, Work: workBytes, Unit: Bytes, limited: true},
		&Row{Area: areaThroughput, Work: workLive, Unit: Bytes},
		&Row{Area: areaRestart, Work: workSynced, Unit: Nanoseconds},
		&Row{Area: areaRestart, Work: workIdle, Unit: Nanoseconds},
		&Row{Area: areaRestart, Work: workCPU, Unit: Nanoseconds},
		&Row{Area: areaRestart, Work: workAllocations, Unit: Count},
		&Row{Area: areaRestart, Work: workLive, Unit: Bytes},
	)
}

// outcome is what one run of a side has shown.
type outcome struct {
	figures  map[string]float64 // by work
	requests map[string]int     // of the controller, where they are compared
}

// Report is the outcome of a measurement.
type Report struct {
	Host     Host     `json:"host"`
	Settings Settings `json:"settings"`
	Rows     []*Row   `json:"rows"`
}

// newReport builds a report of the outcomes of each area, one for each side and round.
func newReport(host Host, settings Settings, areas map[string]map[Side][]outcome) *Report {
	r := &Report{Host: host, Settings: settings}
	for _, row := range layout() {
		of, measured := areas[row.Area]
		if !measured {
			continue
		}
		r.Rows = append(r.Rows, row)
		row.Ours, row.ClientGo = column(of[Ours], row.Work), column(of[ClientGo], row.Work)
		row.compare()
		if row.limited {
			r.Rows = append(r.Rows, row.limit(column(of[RequestsAlone], row.Work)))
		}
	}
	made := areas[areaThroughput]
	kinds := map[string]bool{}
	for _, o := range slices.Concat(made[Ours], made[ClientGo], made[RequestsAlone]) {
		for what := range o.requests {
			kinds[what] = true
		}
	}
	for _, what := range slices.Sorted(maps.Keys(kinds)) {
		r.Rows = append(r.Rows, &Row{
			Area: areaRequests, Work: what, Unit: Count, better: neither,
			Ours: requests(made[Ours], what), ClientGo: requests(made[ClientGo], what), Alone: requests(made[RequestsAlone], what),
		})
	}
	return r
}

// column returns one figure of all rounds.
func column(outcomes []outcome, work string) []float64 {
	return measure.Column(outcomes, func(o outcome) float64 { return o.figures[work] })
}

// requests returns the number of requests of a kind in all rounds.
func requests(outcomes []outcome, what string) []float64 {
	return measure.Column(outcomes, func(o outcome) float64 { return float64(o.requests[what]) })
}

// compare fills in the ratio where there is one.
func (row *Row) compare() {
	var r measure.Interval
	switch row.better {
	case less:
		r = ratio(row.ClientGo, row.Ours)
	case more:
		r = ratio(row.Ours, row.ClientGo)
	default:
		return
	}
	row.Ratio = &r
}

// limit adds the figures of the requests alone to the row, and returns a row of what
// either side takes beyond them. That has a ratio only if it is more than nothing in every
// round: noise can make it less.
func (row *Row) limit(alone []float64) *Row {
	row.Alone = alone
	most := ratio(row.ClientGo, alone)
	row.Most = &most
	beyond := &Row{
		Area: row.Area, Work: row.Work + workBeyond, Unit: row.Unit,
		Ours: minus(row.Ours, alone), ClientGo: minus(row.ClientGo, alone),
	}
	if min(slices.Min(beyond.Ours), slices.Min(beyond.ClientGo)) > 0 {
		beyond.compare()
	}
	return beyond
}

// minus returns the differences, round by round.
func minus(a, b []float64) []float64 {
	d := make([]float64, min(len(a), len(b)))
	for i := range d {
		d[i] = a[i] - b[i]
	}
	return d
}
