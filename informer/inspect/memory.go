package inspect

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/informerkit/informerkit/informer"
)

// memoryReport is what a cache costs, in bytes. Table and indexes are exact. The
// objects are estimated from a sample, because walking all of them would take too long
// in a large cache.
type memoryReport struct {
	Table   int            `json:"tableBytes"`
	Indexes map[string]int `json:"indexBytes"`
	// What the objects would take without a pool of equal parts, and what they take
	// with it. The difference, less the pool, is what interning saves.
	Plain int `json:"objectBytesUnshared"`
	Own   int `json:"objectBytes"`
	// Of the pool as a whole. Informers that share a pool all report the same number,
	// so it must not be added up.
	Pool int `json:"poolBytes"`
}

// estimateRest is how many times as long as an estimate took it is used again, so that
// pages that refresh themselves keep one core busy for 1% of the time at most. 10 ms for
// a cache of 50,000 pods make a second.
const estimateRest = 100

// estimate keeps the last estimate of the memory of a source.
type estimate struct {
	mu   sync.Mutex // held while one is made: a second request waits for the first
	last map[string]informer.MemoryUsage
	next time.Time // when another one is made
}

// usage returns what the function returns, or what it returned a moment ago.
func (e *estimate) usage(estimate func() map[string]informer.MemoryUsage) map[string]informer.MemoryUsage {
	e.mu.Lock()
	defer e.mu.Unlock()
	if began := time.Now(); !began.Before(e.next) {
		e.last = estimate()
		ended := time.Now()
		e.next = ended.Add(estimateRest * ended.Sub(began))
	}
	return e.last
}

// reportMemory renames: the JSON keeps its names when those of the informer's API
// change.
func reportMemory(u informer.MemoryUsage) *memoryReport {
	return &memoryReport{Table: u.Structure.Objects, Indexes: u.Structure.Indexes, Plain: u.Plain, Own: u.Own, Pool: u.Pool}
}

// text describes it in a line. Indexes are sorted by name, so that the line stays the
// same from one request to the next.
func (m *memoryReport) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "memory: about %s of objects", size(m.Own))
	if m.Pool > 0 {
		fmt.Fprintf(&b, " and %s of the pool of equal parts; without it %s", size(m.Pool), size(m.Plain))
	}
	fmt.Fprintf(&b, "; table %s", size(m.Table))
	for _, name := range slices.Sorted(maps.Keys(m.Indexes)) {
		fmt.Fprintf(&b, ", index %s %s", printable(name), size(m.Indexes[name]))
	}
	b.WriteString("\n")
	return b.String()
}

// size prints bytes as people read them. In powers of 1000, as the letters k and M
// mean. Small sizes are shown to the byte, where a rounded kilobyte would say little.
func size(bytes int) string {
	switch {
	case bytes < 10_000:
		return fmt.Sprintf("%d B", bytes)
	case bytes < 1_000_000:
		return fmt.Sprintf("%.1f kB", float64(bytes)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(bytes)/1e6)
}
