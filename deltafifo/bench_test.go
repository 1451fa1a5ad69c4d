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
			q := New(Options[thing]{})
			process := func(Batch[thing]) error { return nil }
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				_ = q.Update(b.Context(), objs[i%len(objs)])
				if i%size == size-1 {
					_ = q.Pop(b.Context(), process)
				}
			}
		})
	}
}

// BenchmarkBatchPipeline is the cost of one delta from a producer in one
// goroutine to a consumer in another, with backpressure.
func BenchmarkBatchPipeline(b *testing.B) {
	objs := someThings(1000)
	q := New(Options[thing]{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for q.Pop(b.Context(), func(Batch[thing]) error { return nil }) == nil {
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
	q := New(Options[thing]{})
	b.ReportAllocs()
	for b.Loop() {
		_ = q.Replace(b.Context(), objs, "1")
		_ = q.Pop(b.Context(), func(Batch[thing]) error { return nil })
	}
}

// BenchmarkByObject is the cost of one delta in and out when 1,000 objects are
// queued, each with so many changes, and read by object.
func BenchmarkByObject(b *testing.B) {
	objs := someThings(1000)
	for _, changes := range []int{1, 4} {
		b.Run(fmt.Sprintf("changes=%d", changes), func(b *testing.B) {
			q := New(Options[thing]{})
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				_ = q.Update(b.Context(), objs[i%len(objs)])
				if i%(len(objs)*changes) == len(objs)*changes-1 {
					_ = q.Pop(b.Context(), readByObject)
				}
			}
		})
	}
}

// BenchmarkByObjectReplace is the cost of a list of 10,000 objects that is read by object.
func BenchmarkByObjectReplace(b *testing.B) {
	objs := someThings(10_000)
	q := New(Options[thing]{})
	b.ReportAllocs()
	for b.Loop() {
		_ = q.Replace(b.Context(), objs, "1")
		_ = q.Pop(b.Context(), readByObject)
	}
}

func readByObject(batch Batch[thing]) error {
	if len(batch.ByObject()) == 0 {
		return errBatch
	}
	return nil
}
