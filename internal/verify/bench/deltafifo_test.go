package bench

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/informerkit/informerkit/deltafifo"
)

// fifo is what queues of changes can do. Pop handles what there is, or part of it, and returns how
// many changes that were.
type fifo interface {
	Update(*corev1.Pod)
	Pop() int
}

// 1,000 changes of as many objects are queued, then handed over.
//
// Target: as fast as client-go's RealFIFO.
func BenchmarkDeltas(b *testing.B) {
	compare(b, clientGo, newRealFIFO, newOursInOrder, func(b *testing.B, q fifo) {
		ps := pods(1000, 1)
		loop(b, len(ps), "change", func() {
			queueAll(q, ps)
			drain(q, len(ps))
		})
	})
}

// 10,000 changes of as many objects are queued, which is below our default limit.
//
// Target: at most twice the memory of client-go's RealFIFO.
func BenchmarkDeltasMemory(b *testing.B) {
	compare(b, clientGo, newRealFIFO, newOursInOrder, func(b *testing.B, q fifo) {
		ps := pods(10_000, 20)
		alive(b, len(ps), "change", func() any {
			queueAll(q, ps)
			return q
		})
	})
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

func newOursInOrder(*testing.B) fifo {
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

func newRealFIFO(*testing.B) fifo {
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
