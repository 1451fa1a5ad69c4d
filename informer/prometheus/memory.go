package prometheus

import (
	"sync"
	"time"

	prom "github.com/prometheus/client_golang/prometheus"

	"github.com/informerkit/informerkit/informer"
)

// memoryAge is how old the figures about memory may be. To find them takes a time in
// proportion to the number of objects, and they change slowly.
const memoryAge = 5 * time.Minute

// memory is the memory of one informer, as it was found last.
type memory struct {
	mu    sync.Mutex
	usage func() informer.MemoryUsage // nil until the informer has said how
	last  informer.MemoryUsage
	at    time.Time
}

// Memory implements [informer.MemoryMetrics].
func (m *memory) Memory(usage func() informer.MemoryUsage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.usage = usage
}

// read returns figures that are not too old.
func (m *memory) read(now time.Time) (informer.MemoryUsage, bool) {
	// The mutex is held meanwhile: a second scrape waits for the same figures.
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.usage == nil {
		return informer.MemoryUsage{}, false
	}
	if m.at.IsZero() || now.Sub(m.at) >= memoryAge {
		m.last, m.at = m.usage(), now
	}
	return m.last, true
}

// memoryLevels are about what a cache costs.
type memoryLevels struct{ structure, index, objects, saved, pool level }

// newMemoryLevels names the levels of an informer's memory.
func newMemoryLevels() memoryLevels {
	return memoryLevels{
		structure: gauge("informer_structure_bytes", "Memory of the table of objects, without the objects: exact, up to 5 minutes old."),
		index:     gauge("informer_index_bytes", "Memory of an index: exact, up to 5 minutes old.", "index"),
		objects:   gauge("informer_objects_bytes", "Memory of the objects, without the parts that are in a pool: an estimate from a sample, up to 5 minutes old."),
		saved:     gauge("informer_shared_bytes", "What the InternPool saves this informer: how much more its objects would take with a copy of each part of their own. The pool itself, informer_pool_bytes, is not taken off. An estimate from a sample, up to 5 minutes old."),
		pool:      gauge("informer_pool_bytes", "Memory of the informer's pool with the parts in it: an estimate, up to 5 minutes old. It is the same for all informers of a pool, so it must not be added up. There is no such series without a pool."),
	}
}

// describe sends the descriptions of all levels of memory.
func (l *memoryLevels) describe(ch chan<- *prom.Desc) {
	for _, l := range []level{l.structure, l.index, l.objects, l.saved, l.pool} {
		ch <- l.desc
	}
}

// readMemory sends the memory of one informer, as it was measured last.
func (l *memoryLevels) readMemory(r reading, u informer.MemoryUsage) {
	r.send(l.structure, float64(u.Structure.Objects))
	for name, bytes := range u.Structure.Indexes {
		r.send(l.index, float64(bytes), name)
	}
	r.send(l.objects, float64(u.Own))
	r.send(l.saved, float64(u.Plain-u.Own))
	if u.Pool > 0 {
		r.send(l.pool, float64(u.Pool))
	}
}
