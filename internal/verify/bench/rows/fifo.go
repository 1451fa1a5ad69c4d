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
	Replace([]*corev1.Pod)
	Pop() int
}

// pending is how many changes wait in the rows about a backlog; it is below our
// default limit.
const pending = 10_000

func fifoRows() []bench.Row {
	memory := compareFIFOs("memory of a pending change", "10,000 changes of as many objects are queued; the heap of one.", pending,
		bench.Target{Ratio: 0.5}, batchFIFOs, fillUp(pending, pending))
	memory.Measure, memory.Repeat = bench.LiveHeap, 1
	return []bench.Row{
		compareFIFOs("one change at a time", "An update is queued and handed over.", 1,
			bench.Target{Ratio: 1}, batchFIFOs, handOver(1, 1)),
		compareFIFOs("1,000 changes of 1,000 objects", "They are queued, then handed over; a unit is a change.", 1000,
			bench.Target{Ratio: 1}, batchFIFOs, handOver(1000, 1000)),
		compareFIFOs("1,000 changes of one object", "They are queued, then handed over; a unit is a change.", 1000,
			bench.Target{Ratio: 1}, batchFIFOs, handOver(1000, 1)),
		compareFIFOs("replace with 10k objects", "A list is queued as one change and handed over; a unit is an object.", pending,
			bench.Target{Ratio: 1}, batchFIFOs, replaceWhole),
		memory,
	}
}

// fifos are the two sides of a comparison.
type fifos struct {
	peer         string
	ours, theirs func() fifo
}

var (
	batchFIFOs = fifos{clientGo + " RealFIFO", newOursInOrder, newRealFIFO}
)

func compareFIFOs(work, does string, per int, want bench.Target, f fifos, subject func(fifo) bench.Subject) bench.Row {
	return bench.Row{
		Area: "queue of changes", Work: work, Does: does, Per: per, Want: want,
		Ours:   bench.Side{Who: informerkit, Setup: func() bench.Subject { return subject(f.ours()) }},
		Theirs: bench.Side{Who: f.peer, Setup: func() bench.Subject { return subject(f.theirs()) }},
	}
}

// handOver queues so many changes of so many objects in turn, and takes them.
func handOver(changes, objects int) func(fifo) bench.Subject {
	return func(q fifo) bench.Subject {
		ps := pods(objects, 1)
		return times(func() {
			for i := range changes {
				q.Update(ps[i%objects])
			}
			drain(q, changes)
		})
	}
}

func drain(q fifo, changes int) {
	for left := changes; left > 0; {
		left -= q.Pop()
	}
}

func replaceWhole(q fifo) bench.Subject {
	ps := pods(pending, 20)
	return times(func() {
		q.Replace(ps)
		drain(q, len(ps))
	})
}

// fillUp queues so many changes of so many objects in turn, and leaves them there.
func fillUp(changes, objects int) func(fifo) bench.Subject {
	return func(q fifo) bench.Subject {
		ps := pods(objects, 20)
		return bench.Subject{
			Run: func(int) {
				for i := range changes {
					q.Update(ps[i%objects])
				}
			},
			After: func() { drain(q, changes) },
		}
	}
}

// oursInOrder is our queue, read in the order of arrival as the informer does.
type oursInOrder struct {
	q   *deltafifo.DeltaFIFO[*corev1.Pod]
	ctx context.Context
}

func newOursInOrder() fifo {
	return oursInOrder{deltafifo.New(deltafifo.Options[*corev1.Pod]{}), running()}
}

func (f oursInOrder) Update(p *corev1.Pod)     { check(f.q.Update(f.ctx, p)) }
func (f oursInOrder) Replace(ps []*corev1.Pod) { check(f.q.Replace(f.ctx, ps, "1")) }

func (f oursInOrder) Pop() (n int) {
	check(f.q.Pop(f.ctx, func(batch deltafifo.Batch[*corev1.Pod]) error {
		for i := range batch.Deltas {
			if all := batch.Deltas[i].List; all != nil {
				n += len(all.Objects)
			} else {
				n++
			}
		}
		return nil
	}))
	return n
}

// oursByObject is our queue, read by object.
type oursByObject struct {
	q   *deltafifo.DeltaFIFO[*corev1.Pod]
	ctx context.Context
}

func newOursByObject() fifo {
	return oursByObject{deltafifo.New(deltafifo.Options[*corev1.Pod]{}), running()}
}

func (f oursByObject) Update(p *corev1.Pod)     { check(f.q.Update(f.ctx, p)) }
func (f oursByObject) Replace(ps []*corev1.Pod) { check(f.q.Replace(f.ctx, ps, "1")) }

func (f oursByObject) Pop() (n int) {
	check(f.q.Pop(f.ctx, func(batch deltafifo.Batch[*corev1.Pod]) error {
		for _, deltas := range batch.ByObject() {
			n += len(deltas)
		}
		return nil
	}))
	return n
}

// realFIFO is the queue that client-go's informers use, configured as they do.
type realFIFO struct{ q *cache.RealFIFO }

func newRealFIFO() fifo {
	return realFIFO{cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{
		KeyFunction:  cache.MetaNamespaceKeyFunc,
		AtomicEvents: true, UnlockWhileProcessing: true, EmitDeltaTypeBookmark: true,
	})}
}

func (f realFIFO) Update(p *corev1.Pod)     { check(f.q.Update(p)) }
func (f realFIFO) Replace(ps []*corev1.Pod) { check(f.q.Replace(anys(ps), "1")) }

func (f realFIFO) Pop() (n int) {
	count := func(d cache.Delta) {
		if all, ok := d.Object.(cache.ReplacedAllInfo); ok {
			n += len(all.Objects)
		} else {
			n++
		}
	}
	check(f.q.PopBatch(func(deltas []cache.Delta, _ bool) error {
		for _, d := range deltas {
			count(d)
		}
		return nil
	}, func(obj any, _ bool) error {
		count(obj.(cache.Deltas)[0])
		return nil
	}))
	return n
}

// anys is the list as client-go's stores and queues want it. Its reflector makes
// such a list, too.
func anys(ps []*corev1.Pod) []any {
	list := make([]any, len(ps))
	for i, p := range ps {
		list[i] = p
	}
	return list
}
