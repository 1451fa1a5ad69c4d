package rows

import (
	"fmt"
	"slices"
	"time"

	"github.com/informerkit/informerkit/internal/verify/bench"
)

// Scaling returns the rows that show how costs grow, series by series, in the
// order of what grows. They have no targets; charts are drawn of them.
func Scaling() []bench.Row {
	return slices.Concat(objectSeries(), handlerSeries(), indexSeries(), readerSeries(), informerSeries())
}

// series returns a row for each x. Missing fields of the point are filled in.
func series(point bench.Point, xs []int, row func(x int) bench.Row) []bench.Row {
	rows := make([]bench.Row, len(xs))
	for i, x := range xs {
		r, p := row(x), point
		p.X = float64(x)
		r.Point = &p
		r.Area, r.Work = "scaling", fmt.Sprintf("%s, %s", p.Series, short(x))
		r.Quick, r.Want = false, bench.Target{}
		rows[i] = r
	}
	return rows
}

// short writes 100,000 as 100k.
func short(n int) string {
	switch {
	case n >= 1_000_000 && n%1_000_000 == 0:
		return fmt.Sprintf("%dM", n/1_000_000)
	case n >= 1000 && n%1000 == 0:
		return fmt.Sprintf("%dk", n/1000)
	default:
		return fmt.Sprint(n)
	}
}

// handlerSeries is the whole pipeline with more and more who listen.
func handlerSeries() []bench.Row {
	return series(bench.Point{
		Series: "handlers-event",
		Title:  "Delivering an event to every handler",
		XLabel: "handlers of the informer", YLabel: "time per event",
	}, []int{1, 3, 10, 30, 100, 300}, func(n int) bench.Row {
		return compareInformers(bench.Row{
			Does: "Updates of 10,000 pods come over a watch in memory and go through reflector, queue, store and index to every handler; " +
				"a unit is an event that all have received.",
		}, deliver(10_000, n, 0))
	})
}

// readerSeries measures how readers slow down a writer. Paced readers use little
// CPU, so they show how long the writer waits for the lock. Unpaced readers show
// the writer's throughput on an overloaded machine.
func readerSeries() []bench.Row {
	var rows []bench.Row
	for _, c := range []struct {
		series, title, does string
		pace                time.Duration
		counts              []int
	}{
		{"readers-paced", "Writing while readers list 10,000 pods 10 times a second each", "10 times a second each", pace, []int{0, 1, 3, 10, 30, 80}},
		{"readers-unpaced", "Writing while readers list 10,000 pods without pause", "without pause", 0, []int{0, 1, 3, 10, 30}},
	} {
		rows = append(rows, series(bench.Point{
			Series: c.series, Title: c.title, XLabel: "readers", YLabel: "writes per second",
		}, c.counts, func(n int) bench.Row {
			return compareStores(bench.Row{
				Does: "One goroutine updates pods, each visible at once; others list their namespace of 10,000 " + c.does + ".",
				Rate: true, Time: share, Rounds: 3,
			}, clientGoStore, someIndexes(1), writesAgainst(readers{n, c.pace}))
		})...)
	}
	return rows
}

// informerSeries is what an informer keeps besides its objects, if there are many.
func informerSeries() []bench.Row {
	return series(bench.Point{
		Series: "informers", Title: "Idle informers, each of one pod",
		XLabel: "informers in the process", YLabel: "heap and stacks of each",
	}, []int{10, 100, 1000, 10_000}, func(n int) bench.Row {
		row := idleInformerRow()
		row.Repeat = n
		row.Does = "Informers, each with a source of its own that holds one pod, are synced and have one handler each; " +
			"heap, stacks and goroutines of one, source and pod included."
		return row
	})
}
