package bench

import (
	"fmt"
	"time"
)

// Row is one piece of work that two sides do in the same way.
type Row struct {
	// Area and Work name the row; together they are unique.
	Area, Work string
	// Does describes in one sentence what is measured, and its unit.
	Does string

	// Measure is the quantity that is compared; less is always better.
	Measure Measure
	// Per is the number of units in one repetition of [Subject.Run], by which
	// figures are divided; 0 means 1.
	Per int
	// Repeat fixes the number of repetitions in a run. 0 means as many as fill
	// the time of a run, found out for each side.
	Repeat int
	// Time is the least duration of a run if Repeat is 0; the runner's own if
	// it is longer. For work that competes with other goroutines for the cores,
	// it must be long enough for each to have its share.
	Time time.Duration
	// Fresh makes every run the first one of a new process. Without it, a side
	// has one process for all of its runs. LiveHeap implies it.
	Fresh bool

	// Rounds is the most runs that each side has, for rows that take long; 0
	// leaves it to the runner.
	Rounds int
	// MoreRounds multiplies the runs of each side, for rows whose runs vary; 0 is 1.
	MoreRounds int

	// Limit names the row that shows how far this one is from what cannot be surpassed, if there is one.
	Limit string

	// Rate selects units per second instead of time per unit in the table.
	Rate bool
	// Quick puts the row among the few that a short comparison consists of.
	Quick bool
	// Point places the row in a series, if it belongs to one.
	Point *Point

	Ours, Theirs Side
	Want         Target
}

// Name is what -run matches and -list prints.
func (r Row) Name() string { return r.Area + ": " + r.Work }

func (r Row) units() float64 { return float64(max(1, r.Per)) }

// rounds is the number of runs of each side, if most are wanted. What is alive is
// hardly ever different, and takes a new process each time: three runs show it.
func (r Row) rounds(most int) int {
	most *= max(1, r.MoreRounds)
	if r.Measure == LiveHeap {
		most = min(most, 3)
	}
	if r.Rounds > 0 {
		most = min(most, r.Rounds)
	}
	return most
}

func (r Row) fresh() bool { return r.Fresh || r.Measure == LiveHeap }

// Point is a place in a series of rows that do the same work, with more and more
// of something. A chart shows a series.
type Point struct {
	// Series names the series, and the file with its chart.
	Series string `json:"series"`
	// Title states the work.
	Title string `json:"title"`
	// XLabel names what grows, YLabel what that costs, without a unit.
	XLabel string `json:"xLabel"`
	YLabel string `json:"yLabel"`
	// X is how much of it there is.
	X float64 `json:"x"`
}

// Measure is what is compared in a row.
type Measure int

// What can be compared.
const (
	// Time is wall-clock time per unit.
	Time Measure = iota
	// LiveHeap is what is still on the heap and on stacks, after the garbage
	// collector has run, for each unit that Run has made.
	LiveHeap
	// Latency is a duration that the subject itself measured: [Subject.Value],
	// in nanoseconds.
	Latency
	// Memory is an amount that the subject itself measured, in bytes.
	Memory
	// Quotient is a plain number that the subject itself measured.
	Quotient
)

// Side is one of the two implementations that a row compares.
type Side struct {
	// Who is the name in the table, such as "client-go RealFIFO".
	Who string
	// Setup makes everything ready. It is called once in each process that
	// measures this side; its time does not count.
	Setup func() Subject
}

// Subject does the work of one side.
type Subject struct {
	// Before and After are called around each Run, and not measured. They may
	// be nil.
	Before, After func()
	// Run does the work n times.
	Run func(n int)
	// Value is what the last Run measured, where [Row.Measure] says that the
	// subject measures.
	Value func() float64
}

// Target is what a row has to show. Its zero value requires nothing: the row is
// there for the record.
type Target struct {
	// Ratio is the least quotient of their figure and ours; 0 means none.
	Ratio float64
	// Figure is the most that our own figure may be.
	Figure Limit
	// Allocs limits what we allocate per unit. All goroutines of the process count, so that
	// nothing can hide in the background.
	Allocs Limit
	// Goroutines limits those that are left per unit of LiveHeap.
	Goroutines Limit
}

// Limit is an upper bound, or none.
type Limit struct {
	max float64
	set bool
}

// AtMost is a limit.
func AtMost(most float64) Limit { return Limit{max: most, set: true} }

// exceeds reports whether a figure is over the limit.
func (l Limit) exceeds(v float64) bool { return l.set && v > l.max }

// countExceeds reports whether a count is over the limit. Counts are averages over
// many repetitions, to which a garbage collection or a growing slice contributes a
// little; the slack is too small to hide one more per unit.
func (l Limit) countExceeds(v float64) bool { return l.exceeds((v - 0.02) / 1.02) }

func (l Limit) describe(what string, format func(float64) string) []string {
	if !l.set {
		return nil
	}
	return []string{fmt.Sprintf("≤ %s%s", format(l.max), what)}
}
