package rows

import (
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/informerkit/informerkit/internal/verify/bench"
)

const (
	// crowd is the number of objects in the namespace that all readers list.
	crowd = 10_000
	// pace is how often a reader lists, where it does not do so without pause.
	pace = 100 * time.Millisecond
	// share is how long a run takes where goroutines compete for the cores: the
	// scheduler gives each 10 ms at a time.
	share = 500 * time.Millisecond
)

func contentionRows() []bench.Row {
	rows := []bench.Row{}
	for _, c := range []struct {
		readers int
		want    bench.Target
		quick   bool
	}{{0, bench.Target{}, false}, {1, bench.Target{}, false}, {10, bench.Target{Ratio: 100, Usual: 500}, true}, {80, bench.Target{}, false}} {
		row := bench.Row{
			Work: fmt.Sprintf("single writes while %s list 10k", count(c.readers, "reader")),
			Does: "One goroutine updates pods, each visible at once; others list their namespace of 10,000 without pause.",
			Rate: true, Time: share, Quick: c.quick,
			Want: c.want,
		}
		rows = append(rows, compareStores(row, clientGoStore, someIndexes(1), writesAgainst(readers{c.readers, 0})))
		if c.readers == 10 {
			r := row
			r.Work, r.Want, r.Quick = row.Work+", "+memDB, bench.Target{Ratio: 1}, false
			rows = append(rows, compareStores(r, memDBStore, someIndexes(1), writesAgainst(readers{c.readers, 0})))
		}
	}
	paced := bench.Row{
		Work: "single writes while 80 readers list 10k at 10/s",
		Does: "The same with 80 goroutines that list the namespace 10 times a second each.",
		Rate: true, Time: share,
	}
	alone := compareStores(bench.Row{
		Work: "our single writes with 80 readers at 10/s, against none",
		Does: "Both sides are ours: what 80 paced readers take from the writer.",
		Rate: true, Time: share,
		Want: bench.Target{Ratio: 1.0 / 3},
	}, implementation{informerkit + " alone", newOurStore}, someIndexes(1), writesAgainst(readers{80, pace}))
	alone.Theirs.Setup = func() bench.Subject {
		return writesAgainst(readers{})(newOurStore(someIndexes(1)))
	}
	return append(rows,
		compareStores(paced, clientGoStore, someIndexes(1), writesAgainst(readers{80, pace})),
		alone, readsAgainstRow())
}

// readers list a namespace while something else is measured.
type readers struct {
	n    int
	pace time.Duration // between the starts of two lists of one reader; 0: no pause
}

// start lets the readers read until stop is called. When it returns, each has
// read once.
func (r readers) start(list func()) (stop func()) {
	done := make(chan struct{})
	var running, ready sync.WaitGroup
	ready.Add(r.n)
	for i := range r.n {
		running.Go(func() {
			list()
			ready.Done()
			if r.pace > 0 {
				r.listAtPace(i, list, done)
				return
			}
			for !closed(done) {
				list()
			}
		})
	}
	ready.Wait()
	return func() {
		close(done)
		running.Wait()
	}
}

// listAtPace lists at the pace, reader i a little after the one before it.
func (r readers) listAtPace(i int, list func(), done <-chan struct{}) {
	timer := time.NewTimer(r.pace * time.Duration(i) / time.Duration(r.n))
	defer timer.Stop()
	for {
		select {
		case <-done:
			return
		case <-timer.C:
			timer.Reset(r.pace)
			list()
		}
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// writesAgainst writes while others read.
func writesAgainst(r readers) func(store) bench.Subject {
	return filled(crowd, 1, func(s store, ps []*corev1.Pod) bench.Subject {
		u := updatesOf(ps)
		subject := times(func() { s.Write(u.take()) })
		var stop func()
		subject.Before = func() { stop = r.start(func() { expect(s.InNamespace(namespace(0)), crowd) }) }
		subject.After = func() { stop() }
		return subject
	})
}

// readsAgainstRow is the same from the other side.
func readsAgainstRow() bench.Row {
	return compareStores(bench.Row{
		Work: "2 readers list 10k during 1,000 writes/s",
		Does: "2 goroutines list a namespace of 10,000 while another one writes a pod each millisecond; a unit is a visited pod.",
		Per:  crowd, Time: share,
		Want: bench.Target{Ratio: 5},
	}, clientGoStore, someIndexes(1), filled(crowd, 1, func(s store, ps []*corev1.Pod) bench.Subject {
		u := updatesOf(ps)
		writer := readers{1, time.Millisecond}
		var stop func()
		return bench.Subject{
			Before: func() { stop = writer.start(func() { s.Write(u.take()) }) },
			Run:    func(n int) { parallel(2, n, func(int) { expect(s.InNamespace(namespace(0)), crowd) }) },
			After:  func() { stop() },
		}
	}))
}
