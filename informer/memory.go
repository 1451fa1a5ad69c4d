package informer

import (
	"github.com/informerkit/informerkit/indexer"
	"github.com/informerkit/informerkit/reflector"
)

// MemoryUsage is what a cache costs, in bytes. See [Informer.MemoryUsage].
type MemoryUsage struct {
	// Objects is the number of objects in the cache.
	Objects int
	// Structure is the memory of the cache itself, and of each index: exact.
	Structure indexer.Usage
	// Sampled is the number of objects that the estimates below are made of.
	Sampled int
	// Plain estimates what the objects would take without an [Options].InternPool, each
	// with a copy of all of its strings, maps and structs.
	Plain int
	// Own estimates what the objects take themselves, without the parts that are in the
	// pool and that others refer to as well. Plain-Own is what the pool saves this
	// informer, before the cost of the pool. Without a pool Own is Plain.
	Own int
	// Pool estimates the memory of the pool with all parts in it. The pool is that of
	// all informers to which it was given, each of which reports the whole: add it once.
	Pool int
}

// Total returns what the cache takes with all that it refers to.
func (u MemoryUsage) Total() int { return u.Structure.Total() + u.Own + u.Pool }

// MemoryMetrics is implemented by [Metrics] that show the memory of the informer, too.
type MemoryMetrics interface {
	Metrics
	// Memory is called by Run, once and first. The function usage is the informer's
	// [Informer.MemoryUsage], to be called from any goroutine, but not too often: it
	// takes a time in proportion to the number of objects.
	Memory(usage func() MemoryUsage)
}

// memorySample is the number of objects whose memory is estimated.
const memorySample = 200

// MemoryUsage returns what the cache costs at present, and what it would cost
// without an [Options].InternPool. Objects are sampled, so the estimates are within
// some 10% if they are alike in size. It takes a time proportional to the number of
// objects and of parts in the pool: some 10 ms for 50,000 pods.
func (inf *Informer[T]) MemoryUsage() MemoryUsage {
	// A snapshot does not change, so the estimate is of one moment and holds up nothing.
	snap := inf.Snapshot()
	u := MemoryUsage{Objects: snap.Len(), Structure: snap.Usage()}
	if pool := inf.pool; pool != nil {
		st := pool.Stats()
		u.Pool = st.Bytes + st.PartsBytes
	}
	// Every n-th object, over the whole cache: neighbours may be alike.
	every := max(1, u.Objects/memorySample)
	u.Plain, u.Own = reflector.SizeOf(inf.pool, func(yield func(T) bool) {
		at := 0
		for obj := range snap.All() {
			if at%every == 0 {
				u.Sampled++
				if !yield(obj) {
					return
				}
			}
			at++
		}
	})
	if u.Sampled > 0 {
		all := float64(u.Objects) / float64(u.Sampled)
		u.Plain, u.Own = int(float64(u.Plain)*all), int(float64(u.Own)*all)
	}
	return u
}
