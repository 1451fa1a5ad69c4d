package rows

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/informerkit/informerkit/deltafifo"
	"github.com/informerkit/informerkit/internal/verify/bench"
)

// fifo is what queues of changes can do. Pop handles what there is, or part of
// it, and returns how many changes that were.
type fifo interface {
	Update(*corev1.Pod)
	Pop() int
}

// fifoRows are the queue between the reflector and the store.
func fifoRows() []bench.Row {
	// pending is how many changes wait; it is below our default limit.
	const pending = 10_000
	rows := []bench.Row{
		compare(bench.Row{
			Work: "1,000 changes of 1,000 objects", Does: "They are queued, then handed over; a unit is a change.",
			Per: 1000, Want: bench.Target{Ratio: 1},
		}, newOursInOrder, newRealFIFO, handOver(1000)),
		compare(bench.Row{
			Work: "memory of a pending change", Does: "10,000 changes of as many objects are queued; the heap of one.",
			Measure: bench.LiveHeap, Per: pending, Repeat: 1, Want: bench.Target{Ratio: 0.5},
		}, newOursInOrder, newRealFIFO, fillUp(pending)),
	}
	for i := range rows {
		rows[i].Area, rows[i].Theirs.Who = "queue of changes", clientGo+" RealFIFO"
	}
	return rows
}

// handOver queues a change of each of so many objects, and takes them.
func handOver(objects int) func(fifo) bench.Subject {
	return func(q fifo) bench.Subject {
		ps := pods(objects, 1)
		return times(func() {
			queueAll(q, ps)
			drain(q, len(ps))
		})
	}
}

// fillUp queues a change of each of so many objects, and leaves them there.
func fillUp(objects int) func(fifo) bench.Subject {
	return func(q fifo) bench.Subject {
		ps := pods(objects, 20)
		return bench.Subject{
			Run:   func(int) { queueAll(q, ps) },
			After: func() { drain(q, len(ps)) },
		}
	}
}

func queueAll(q fifo, ps []*corev1.Pod) {
	for _, p := range ps {
		q.Update(p)
	}
}

func drain(q fifo, changes int) {
	for left := changes; left > 0; {
		left -= q.Pop()
	}
}

// oursInOrder is our queue, read in the order of arrival as the informer does.
type oursInOrder struct {
	*deltafifo.DeltaFIFO[*corev1.Pod]
	ctx context.Context
}

func newOursInOrder() fifo {
	return oursInOrder{deltafifo.New(deltafifo.Options[*corev1.Pod]{}), running()}
}

func (f oursInOrder) Update(p *corev1.Pod) { check(f.DeltaFIFO.Update(f.ctx, p)) }

func (f oursInOrder) Pop() (n int) {
	check(f.DeltaFIFO.Pop(f.ctx, func(batch deltafifo.Batch[*corev1.Pod]) error {
		for range batch.Deltas {
			n++
		}
		return nil
	}))
	return n
}

// realFIFO is the queue that client-go's informers use, configured as they do.
type realFIFO struct{ *cache.RealFIFO }

func newRealFIFO() fifo {
	return realFIFO{cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{
		KeyFunction:  cache.MetaNamespaceKeyFunc,
		AtomicEvents: true, UnlockWhileProcessing: true, EmitDeltaTypeBookmark: true,
	})}
}

func (f realFIFO) Update(p *corev1.Pod) { check(f.RealFIFO.Update(p)) }

func (f realFIFO) Pop() (n int) {
	check(f.PopBatch(func(deltas []cache.Delta, _ bool) error {
		n += len(deltas)
		return nil
	}, func(any, bool) error {
		n++
		return nil
	}))
	return n
}
