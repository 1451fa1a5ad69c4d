package pmap

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"testing"
)

// The benchmarks behind the figures of the package documentation. Widths and
// capacities are compared by changing the constants in node.go.

func benchmarkSizes(b *testing.B, run func(b *testing.B, m versioned, items []*item)) {
	for _, n := range []int{1_000, 100_000} {
		for _, impl := range []string{"trie", "hashed", "btree"} {
			m := implementations[impl](hashes["mixed"])
			items := make([]*item, n)
			for k := range items {
				items[k] = &item{key: k}
				m.put(1, items[k])
			}
			rand.Shuffle(n, func(i, j int) { items[i], items[j] = items[j], items[i] })
			b.Run(fmt.Sprintf("%d/%s", n, impl), func(b *testing.B) {
				b.ReportAllocs()
				run(b, m.snapshot(), items)
			})
		}
	}
}

func BenchmarkFind(b *testing.B) {
	benchmarkSizes(b, func(b *testing.B, m versioned, items []*item) {
		for i := 0; b.Loop(); i++ {
			m.find(items[i%len(items)].key)
		}
	})
}

func BenchmarkFindInGoMap(b *testing.B) {
	benchmarkSizes(b, func(b *testing.B, m versioned, items []*item) {
		g := map[int]*item{}
		for _, v := range items {
			g[v.key] = v
		}
		for i := 0; b.Loop(); i++ {
			_ = g[items[i%len(items)].key]
		}
	})
}

// Each operation is a batch of its own.
func BenchmarkReplaceOne(b *testing.B) {
	benchmarkSizes(b, func(b *testing.B, m versioned, items []*item) {
		for i := 0; b.Loop(); i++ {
			m.edit(uint64(i)+2, items[i%len(items)])
		}
	})
}

// A hundred operations make a batch.
func BenchmarkReplaceInBatches(b *testing.B) {
	benchmarkSizes(b, func(b *testing.B, m versioned, items []*item) {
		for i := 0; b.Loop(); i++ {
			m.edit(uint64(i/100)+2, items[i%len(items)])
		}
	})
}

// Removal and addition of one value, each in a batch of its own.
func BenchmarkRemoveAndAdd(b *testing.B) {
	benchmarkSizes(b, func(b *testing.B, m versioned, items []*item) {
		for i := 0; b.Loop(); i++ {
			v := items[i%len(items)]
			m.remove(uint64(2*i)+2, v.key)
			m.put(uint64(2*i)+3, v)
		}
	})
}

func BenchmarkIterate(b *testing.B) {
	benchmarkSizes(b, func(b *testing.B, m versioned, items []*item) {
		n := 0
		for b.Loop() {
			m.each(func(*item) bool { n++; return true })
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/value")
	})
}

// The naive snapshot: copying a Go map.
func BenchmarkCopyGoMap(b *testing.B) {
	g := map[int]*item{}
	for k := range 100_000 {
		g[k] = &item{key: k}
	}
	for b.Loop() {
		_ = maps.Clone(g)
	}
}

// What a value costs beyond itself.
func BenchmarkMemory(b *testing.B) {
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return s.HeapAlloc
	}
	const n = 100_000
	items := make([]*item, n)
	for k := range items {
		items[k] = &item{key: k}
	}
	for name, make := range implementations {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				before := heap()
				m := make(hashes["mixed"])
				for _, v := range items {
					m.put(1, v)
				}
				b.ReportMetric(float64(heap()-before)/n, "B/value")
				runtime.KeepAlive(m)
			}
		})
	}
	runtime.KeepAlive(items)
}

func BenchmarkDiffOnePercent(b *testing.B) {
	const n = 100_000
	a := filled(n)
	c := a.snapshot().(*trieMap)
	for k := range n / 100 {
		c.edit(2, &item{k * 97, 1})
	}
	cmp := Compare[*item]{
		Hash:    a.hashOf,
		SameKey: func(x, y *item) bool { return x.key == y.key },
		Equal:   func(x, y *item) bool { return x == y },
	}
	found := 0
	for b.Loop() {
		Diff(a.Trie, c.Trie, cmp, func(Delta[*item]) bool { found++; return true })
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(found), "ns/change")
}
