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

// objectSeries is what a store costs that has more and more objects.
func objectSeries() []bench.Row {
	const million = 1_000_000
	var rows []bench.Row
	for _, s := range []struct {
		name, title, label, does string
		indexes                  int
		per                      func(objects int) int
		work                     func(objects int) func(store) bench.Subject
	}{
		{"objects-get", "Getting a pod by namespace and name", "time per look-up",
			"One goroutine looks up pods in random order, by keys that are not the strings of the pods; client-go through its lister.",
			1, func(int) int { return 1 }, func(n int) func(store) bench.Subject { return gets(n, 1) }},
		{"objects-list", "Listing all pods", "time per pod",
			"One goroutine lists all pods; a unit is a visited pod.",
			1, func(n int) int { return n }, lists},
		{"objects-write", "Writing a pod that is visible at once", "time per write",
			"One goroutine updates pods in random order, each visible at once, with indexes of namespace and node.",
			2, func(int) int { return 1 }, singles},
		{"objects-batch", "Writing pods in batches of 1,000", "time per write",
			"One goroutine updates pods in random order, 1,000 in a batch, with indexes of namespace and node; a unit is a write.",
			2, func(int) int { return 1000 }, func(n int) func(store) bench.Subject { return batches(n, 1000) }},
		{"objects-memory", "Memory of a store with two indexes, without the pods", "heap per pod", "", 2, nil, nil},
	} {
		point := bench.Point{Series: s.name, Title: s.title, XLabel: "pods in the store", YLabel: s.label}
		rows = append(rows, series(point, []int{1000, 10_000, 100_000, million}, func(n int) bench.Row {
			if s.work == nil {
				return memoryRow(n, s.indexes)
			}
			row := bench.Row{Does: s.does, Per: s.per(n)}
			if n >= million {
				row.Rounds = 3 // setting up alone takes seconds
			}
			return compareStores(row, indexes[:s.indexes], s.work(n))
		})...)
	}
	return rows
}

// handlerSeries is the whole pipeline with more and more who listen.
func handlerSeries() []bench.Row {
	return series(bench.Point{
		Series: "handlers-event",
		Title:  "Delivering an event to every handler",
		XLabel: "handlers of the informer", YLabel: "time per event",
	}, []int{1, 3, 10, 30, 100, 300}, func(n int) bench.Row {
		return compareInformers(bench.Row{Does: eventDoes}, deliver(10_000, n))
	})
}

// indexSeries is what indexes cost, of which a controller needs a few: namespace,
// node, label, owner, another label, UID, owner's name, namespace and label.
func indexSeries() []bench.Row {
	var rows []bench.Row
	for _, s := range []struct {
		name, title, label string
		row                func(indexes int) bench.Row
	}{
		{"indexes-add", "Adding 20,000 pods in batches of 100", "time per pod", func(n int) bench.Row {
			row := addRow(n)
			row.Rate = false
			return row
		}},
		{"indexes-update", "Updating pods of 100,000 in batches of 1,000", "time per write", func(n int) bench.Row {
			return compareStores(bench.Row{
				Does: "One goroutine updates pods in random order, 1,000 in a batch; no value of an index changes. A unit is a write.",
				Per:  1000,
			}, indexes[:n], batches(big, 1000))
		}},
		{"indexes-memory", "Memory of a store of 100,000 pods, without the pods", "heap per pod", func(n int) bench.Row { return memoryRow(big, n) }},
	} {
		point := bench.Point{Series: s.name, Title: s.title, XLabel: "indexes", YLabel: s.label}
		rows = append(rows, series(point, []int{0, 1, 2, 4, 8}, s.row)...)
	}
	return rows
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
			}, indexes[:1], writesAgainst(readers{n, c.pace}))
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
