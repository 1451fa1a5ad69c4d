package rows

import (
	"sync"

	"github.com/informerkit/informerkit/internal/verify/bench"
)

// queueLimitRow compares our queue with the least that a queue of keys can be, to show
// how far from it we are. What lies between is what the least does not do: it hands out
// a key while another worker holds it, it has no context, no delays, and no statistics,
// and it is never shut down.
func queueLimitRow() bench.Row {
	row := compareQueues(bench.Row{
		Area: "queue", Work: "limit: add+get+done, one goroutine",
		Does: "A key goes through our queue, and through the least there can be: a lock, a map of the queued keys, and a ring.",
		Want: bench.Target{Ratio: 0.5},
	}, cycle)
	row.Theirs = bench.Side{Who: "mutex, map and ring", Setup: func() bench.Subject { return cycle(newBareQueue()) }}
	return row
}

// bareQueue is the least that a queue of keys can be.
type bareQueue struct {
	queue // nil: what the rows above do not call

	mu     sync.Mutex
	filled sync.Cond
	queued map[key]struct{}
	ring   []key
	first  int
	n      int
}

func newBareQueue() *bareQueue {
	q := &bareQueue{queued: map[key]struct{}{}, ring: make([]key, 64)}
	q.filled.L = &q.mu
	return q
}

func (q *bareQueue) Add(k key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, there := q.queued[k]; there {
		return
	}
	q.queued[k] = struct{}{}
	q.push(k)
	q.filled.Signal()
}

func (q *bareQueue) push(k key) {
	if q.n == len(q.ring) {
		ring := make([]key, 2*q.n)
		copy(ring[copy(ring, q.ring[q.first:]):], q.ring[:q.first])
		q.ring, q.first = ring, 0
	}
	q.ring[(q.first+q.n)%len(q.ring)] = k
	q.n++
}

func (q *bareQueue) Get() (key, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.n == 0 {
		q.filled.Wait()
	}
	k := q.take()
	delete(q.queued, k)
	return k, true
}

func (q *bareQueue) take() key {
	k := q.ring[q.first]
	q.ring[q.first] = key{}
	q.first = (q.first + 1) % len(q.ring)
	q.n--
	return k
}

// ShutDown does nothing: nothing waits.
func (q *bareQueue) ShutDown() {}

// Done does nothing: a bareQueue does not know which keys are held.
func (q *bareQueue) Done(key) {}
