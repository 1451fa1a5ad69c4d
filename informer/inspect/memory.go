package inspect

import (
	"fmt"
	"maps"
	"slices"
	"strings"

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
