package deltafifo

import (
	"fmt"
	"testing"
)

func someThings(n int) []thing {
	objs := make([]thing, n)
	for i := range objs {
		objs[i] = newThing(fmt.Sprintf("ns-%d/object-%d", i%50, i), "1")
	}
	return objs
}

// BenchmarkBatch is the cost of one delta in and out, in one goroutine.
func BenchmarkBatch(b *testing.B) {
	objs := someThings(1000)
	for _, size := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			q := NewBatch[thing](BatchOptions{})
			process := func([]Change[thing]) error { return nil }
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				_ = q.Update(b.Context(), objs[i%len(objs)])
				if i%size == size-1 {
					_ = q.PopBatch(b.Context(), process)
				}
			}
		})
	}
}

// BenchmarkBatchPipeline is the cost of one delta from a producer in one
// goroutine to a consumer in another, with backpressure.
func BenchmarkBatchPipeline(b *testing.B) {
	objs := someThings(1000)
	q := NewBatch[thing](BatchOptions{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for q.PopBatch(b.Context(), func([]Change[thing]) error { return nil }) == nil {
			continue
		}
	}()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		_ = q.Update(b.Context(), objs[i%len(objs)])
	}
	q.Close()
	<-done
}

// BenchmarkBatchReplace is the cost of a list of 10,000 objects: looking
// whether each can be queued.
func BenchmarkBatchReplace(b *testing.B) {
	objs := someThings(10_000)
	q := NewBatch[thing](BatchOptions{})
	b.ReportAllocs()
	for b.Loop() {
		_ = q.Replace(b.Context(), objs, "1")
		_ = q.PopBatch(b.Context(), func([]Change[thing]) error { return nil })
	}
}

// BenchmarkDeltaFIFO is the cost of one delta in and out when 1,000 objects are
// queued, each with so many changes.
func BenchmarkDeltaFIFO(b *testing.B) {
	objs := someThings(1000)
	for _, changes := range []int{1, 4} {
		b.Run(fmt.Sprintf("changes=%d", changes), func(b *testing.B) {
			q := New(Options[thing]{})
			process := func(Deltas[thing]) error { return nil }
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				_ = q.Update(b.Context(), objs[i%len(objs)])
				if i%(len(objs)*changes) == len(objs)*changes-1 {
					for range objs {
						_ = q.Pop(b.Context(), process)
					}
				}
			}
		})
	}
}

// BenchmarkDeltaFIFOReplace is the cost of a list of 10,000 objects and of
// popping each of them.
func BenchmarkDeltaFIFOReplace(b *testing.B) {
	objs := someThings(10_000)
	q := New(Options[thing]{})
	b.ReportAllocs()
	for b.Loop() {
		_ = q.Replace(b.Context(), objs, "1")
		for range objs {
			_ = q.Pop(b.Context(), func(Deltas[thing]) error { return nil })
		}
	}
}
