// Package rows is the list of what is compared: one file per area, one function
// per kind of work. Package bench documents how it is measured and what is fair.
//
// The rows of first syncs, relists and bursts are in sync.go. Their objects are in served.go, the
// server of them, in a process of its own, in server.go, and the informers of both sides in
// syncer.go. All other rows work in memory, on the objects of objects.go.
package rows

import (
	"slices"
	"sync"

	"github.com/informerkit/informerkit/internal/verify/bench"
)

// The names of the sides, as the table shows them.
const (
	informerkit       = "informerkit"
	clientGo          = "client-go"
	controllerRuntime = "controller-runtime"
)

// All returns every row, in the order of the table.
func All() []bench.Row {
	return slices.Concat(controllerRows(), queueRows(), storeRows(), fifoRows(), syncRows(), internRows())
}

// compare fills in the sides of a row with work that is written once, for what both
// sides make.
func compare[T any](row bench.Row, ours, theirs func() T, work func(T) bench.Subject) bench.Row {
	row.Ours = bench.Side{Who: informerkit, Setup: func() bench.Subject { return work(ours()) }}
	row.Theirs = bench.Side{Who: clientGo, Setup: func() bench.Subject { return work(theirs()) }}
	return row
}

// times returns a subject whose work is a function.
func times(f func()) bench.Subject {
	return bench.Subject{Run: func(n int) {
		for range n {
			f()
		}
	}}
}

// parallel calls f for each number below n, in so many goroutines, each of which
// has a contiguous part.
func parallel(goroutines, n int, f func(i int)) {
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := n * g / goroutines; i < n*(g+1)/goroutines; i++ {
				f(i)
			}
		})
	}
	wg.Wait()
}

// keep makes n values and holds on to them.
func keep[T any](create func() T) bench.Subject {
	var all []T
	return bench.Subject{
		Run: func(n int) {
			all = make([]T, n)
			for i := range all {
				all[i] = create()
			}
		},
		// After is called when the memory has been measured; that it refers to
		// them keeps the values alive until then.
		After: func() { clear(all) },
	}
}

// expect ends the process if a side did not do what it was asked for.
func expect(got, want int) {
	if got != want {
		panic("a store has listed another number of objects than there are")
	}
}

// must ends the process: a benchmark that cannot be set up measures nothing.
func must[T any](v T, err error) T {
	check(err)
	return v
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
