package rows

import (
	"sync"
	"time"

	"github.com/informerkit/informerkit/internal/verify/bench"
)

// queueLimitRows compare our queue with the least that a queue of keys can be, to show
// how far from it we are. What lies between is what the least does not do: it hands out
// a key while another worker holds it, it has no context, no delays, and no statistics,
// and it is never shut down.
func queueLimitRows() []bench.Row {
	row := func(row bench.Row, work func(queue) bench.Subject) bench.Row {
		row.Area = "queue"
		row.Ours = bench.Side{Who: informerkit, Setup: func() bench.Subject { return work(ourQueue()) }}
		row.Theirs = bench.Side{Who: "mutex, map and ring", Setup: func() bench.Subject { return work(newBareQueue()) }}
		return row
	}
	return []bench.Row{
		row(bench.Row{
			Work: "limit: add+get+done, one goroutine",
			Does: "A key goes through our queue, and through the least there can be: a lock, a map of the queued keys, and a ring.",
			Want: bench.Target{Ratio: 0.5},
		}, cycle),
		row(bench.Row{
			Work: "limit: add+get+done, 8 producers, 1 worker",
			Does: "1,000 keys at a time go through our queue, and through the least there can be, whose Done does nothing; a unit is a key.",
			Per:  1000, MoreRounds: 3,
			Want: bench.Target{Ratio: 0.5},
		}, pass(1000, 8, 1)),
		row(bench.Row{
			Work: "limit: bursts of 20k, 8 producers, 8 workers",
			Does: "20,000 keys at a time go through our queue, and through the least there can be; a unit is a key.",
			Per:  20_000, MoreRounds: 3,
			Want: bench.Target{Ratio: 0.5},
		}, pass(20_000, 8, 8)),
		delayLimitRow(),
		newQueueLimitRow(bench.Row{
			Work: "limit: AddAfter, nothing due",
			Does: "100,000 keys with delays of 1 to 2 hours are added to our queue, and to the least there can be: a lock, a map, and slices of keys; a unit is a key.",
			Per:  100_000,
		}, func() queue { return newBareDelays() }, addDelayed(100_000)),
		newQueueLimitRow(bench.Row{
			Work: "limit: AddRateLimited, then Forget",
			Does: "50,000 keys are added, asked for and forgotten as above, and likewise in the least there can be: the same with one more map, of failures; a unit is a key.",
			Per:  50_000,
		}, func() queue { return &bareFailures{newBareDelays(), map[key]int{}} }, failAndForget(50_000)),
	}
}

// newQueueLimitRow compares work that needs a new queue for each run.
func newQueueLimitRow(row bench.Row, least func() queue, prepare func() func(queue)) bench.Row {
	row.Area, row.Repeat, row.MoreRounds, row.Want = "queue", 1, 5, bench.Target{Ratio: 0.5}
	row.Ours = bench.Side{Who: informerkit, Setup: newEachTime(ourQueue, prepare)}
	row.Theirs = bench.Side{Who: "mutex, maps and slices", Setup: newEachTime(least, prepare)}
	return row
}

// delayLimitRow is the same for keys that come later.
func delayLimitRow() bench.Row {
	const n = 100_000
	work := addAndDrain(n)
	return bench.Row{
		Area: "queue", Work: "limit: AddAfter of 100k and drain",
		Does: "100,000 keys with delays of 1 to 5 ms go through our queue, and through the least there can be: a lock, a map, and a slice of keys for each millisecond; a unit is a key.",
		Per:  n, MoreRounds: 3,
		Ours: bench.Side{Who: informerkit, Setup: func() bench.Subject { return work(ourQueue()) }},
		Theirs: bench.Side{Who: "mutex, map and slices", Setup: func() bench.Subject {
			return work(newBareDelays())
		}},
		Want: bench.Target{Ratio: 0.5},
	}
}

// bareDelays is the least that a queue of delayed keys can be, for one goroutine that gets them and
// delays of less than bareSlots milliseconds. A key comes up to two milliseconds late, and those of a
// millisecond come in the order in which they were added.
type bareDelays struct {
	*bareQueue

	start    time.Time
	slots    [bareSlots][]key // by the millisecond
	released int64            // the last millisecond whose keys are queued
}

const bareSlots = 64

func newBareDelays() *bareDelays { return &bareDelays{bareQueue: newBareQueue(), start: time.Now()} }

func (q *bareDelays) AddAfter(k key, d time.Duration) {
	at := (time.Since(q.start) + d).Milliseconds() + 1
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, there := q.queued[k]; there {
		return
	}
	q.queued[k] = struct{}{}
	at = max(at, q.released+1) // its millisecond may have been released meanwhile
	q.slots[at%bareSlots] = append(q.slots[at%bareSlots], k)
}

func (q *bareDelays) Get() (key, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.n == 0 {
		q.mu.Unlock()
		time.Sleep(time.Millisecond)
		q.mu.Lock()
		q.release()
	}
	k := q.take()
	delete(q.queued, k)
	return k, true
}

// release queues the keys whose time has come.
func (q *bareDelays) release() {
	for now := time.Since(q.start).Milliseconds(); q.released < now; q.released++ {
		slot := &q.slots[(q.released+1)%bareSlots]
		for _, k := range *slot {
			q.push(k)
		}
		clear(*slot)
		*slot = (*slot)[:0]
	}
}

// bareFailures is the least that counts failures, too. It has no bound for the delays.
type bareFailures struct {
	*bareDelays

	failures map[key]int
}

func (q *bareFailures) AddRateLimited(k key) {
	q.mu.Lock()
	n := q.failures[k]
	q.failures[k] = n + 1
	q.mu.Unlock()
	q.AddAfter(k, 5*time.Millisecond<<n)
}

func (q *bareFailures) NumRequeues(k key) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.failures[k]
}

func (q *bareFailures) Forget(k key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.failures, k)
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

// successRow is what a worker does with a key that is processed without a failure.
func successRow() bench.Row {
	return compareQueues(bench.Row{
		Area: "queue", Work: "add+get+forget+done, one goroutine",
		Does: "One goroutine adds a key, gets it, forgets its failures, as after each success, and is done with it; 1,024 keys in turn.",
		Want: bench.Target{Ratio: 1.5, Allocs: bench.AtMost(0)},
	}, func(q queue) bench.Subject {
		ks := keys(1024)
		return bench.Subject{Run: func(n int) {
			for i := range n {
				q.Add(ks[i%len(ks)])
				k, _ := q.Get()
				q.Forget(k)
				q.Done(k)
			}
		}}
	})
}
