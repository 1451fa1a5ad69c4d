package rows

import (
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/informerkit/informerkit/deltafifo"
	"github.com/informerkit/informerkit/internal/verify/bench"
)

// fifoLimitRows compare our queues with the least that a queue of changes can be, to
// show how far from it we are. What lies between is what the least does not do: it
// checks no object, has no bound, no context, no transform and no list, wakes no
// consumer, and is never closed.
func fifoLimitRows() []bench.Row {
	return []bench.Row{
		compareFIFOs("limit: 1,000 changes",
			"They are queued, then handed over, by our queue and by the least there can be: a lock and two slices; a unit is a change.", 1000,
			bench.Target{Ratio: 0.25}, fifos{"mutex and slices", newOurBatchFIFO, newBareFIFO}, handOver(1000, 1000)),
		compareFIFOs("limit: classic, 1,000 changes of 100 objects",
			"They are queued, then handed over, ten by ten, by our queue and by the least there can be: a lock, a map and a line of slices that are used again; a unit is a change.", 1000,
			bench.Target{Ratio: 0.5}, fifos{"mutex, map and slices", newOurDeltaFIFO, newBareDeltaFIFO}, handOver(1000, 100)),
	}
}

// bareFIFO is the least that a batch queue can be.
type bareFIFO struct {
	fifo // nil: what the rows above do not call

	mu          sync.Mutex
	fill, spare []deltafifo.Change[*corev1.Pod]
}

func newBareFIFO() fifo { return &bareFIFO{} }

func (f *bareFIFO) Update(p *corev1.Pod) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fill = append(f.fill, deltafifo.Change[*corev1.Pod]{Type: deltafifo.Updated, Object: p})
}

func (f *bareFIFO) Pop() int {
	f.mu.Lock()
	batch := f.fill
	f.fill = f.spare
	f.mu.Unlock()
	clear(batch) // or the objects would stay alive
	f.spare = batch[:0]
	return len(batch)
}

// bareDeltaFIFO is the least that a DeltaFIFO can be. The deltas of an object are for
// the consumer to keep, so it makes a slice for each.
type bareDeltaFIFO struct {
	fifo // nil, as above

	mu     sync.Mutex
	byKey  map[key]*bareItem
	line   []*bareItem
	head   int
	free   []*bareItem
	handed deltafifo.Deltas[*corev1.Pod]
}

type bareItem struct {
	key    key
	states []*corev1.Pod
}

func newBareDeltaFIFO() fifo { return &bareDeltaFIFO{byKey: map[key]*bareItem{}} }

func (f *bareDeltaFIFO) Update(p *corev1.Pod) {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := key{Namespace: p.Namespace, Name: p.Name}
	item := f.byKey[k]
	if item == nil {
		item = f.newItem()
		item.key = k
		f.byKey[k] = item
		f.line = append(f.line, item)
	}
	item.states = append(item.states, p)
}

func (f *bareDeltaFIFO) newItem() *bareItem {
	last := len(f.free) - 1
	if last < 0 {
		return &bareItem{}
	}
	item := f.free[last]
	f.free = f.free[:last]
	return item
}

func (f *bareDeltaFIFO) Pop() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	item := f.line[f.head]
	f.head++
	if f.head == len(f.line) {
		f.line, f.head = f.line[:0], 0
	}
	delete(f.byKey, item.key)
	deltas := make(deltafifo.Deltas[*corev1.Pod], len(item.states))
	for i, p := range item.states {
		deltas[i] = deltafifo.Delta[*corev1.Pod]{Type: deltafifo.Updated, Object: p, Key: item.key}
	}
	clear(item.states)
	item.states = item.states[:0]
	f.free = append(f.free, item)
	f.handed = deltas // so it is on the heap, as it is for a consumer
	return len(deltas)
}
