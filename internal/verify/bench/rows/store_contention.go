package rows

import (
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

// writesBesideReadersRow is a cache that many reconciles read at once, with the pauses
// that real ones have.
func writesBesideReadersRow() bench.Row {
	return compareStores(bench.Row{
		Work: "writes beside 10 readers that list 10k, 10 times a second each",
		Does: "One goroutine updates pods, each visible at once; 10 others list their namespace of 10,000 pods, each 10 times a second.",
		Rate: true, Time: share, Quick: true,
		Want: bench.Target{Ratio: 0.5},
	}, clientGoStore, someIndexes(1), writesAgainst(readers{10, pace}))
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
