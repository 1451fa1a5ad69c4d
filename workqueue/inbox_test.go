package workqueue

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/workqueue/history"
)

// taken returns the items that are queued, in their order, and takes them.
func taken[T comparable](t *testing.T, q *Queue[T]) (items []T) {
	t.Helper()
	for q.Len() > 0 {
		item, ok := q.Get(t.Context())
		require.True(t, ok)
		q.Done(item)
		items = append(items, item)
	}
	return items
}

// An Add does not wait while another operation holds the lock, which then adds the item.
func TestAddThatFindsTheLockTakenLeavesTheItemToItsHolder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[string]{})
		got := make(chan string)
		go func() {
			item, _ := q.Get(t.Context())
			got <- item
		}()
		synctest.Wait()

		q.engine.lock()
		q.Add("a") // returns, although this goroutine has the lock
		q.Add("b")
		q.Add("a")
		assert.Zero(t, q.engine.order.n)
		q.engine.unlock()
		assert.Equal(t, "a", <-got, "a worker that waits is woken")
		q.Done("a")
		assert.Equal(t, []string{"b"}, taken(t, q), "in the order of the adds, each once")
	})
}

// The rule that an operation sees what was added before it began. Each must be the first one
// that has a chance to look into the inbox.
func TestWhatBeginsAfterAnAddFindsItsItem(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for name, finds := range map[string]func(q *RateLimitingQueue[string]) bool{
		"Len":     func(q *RateLimitingQueue[string]) bool { return q.Len() == 1 },
		"Stats":   func(q *RateLimitingQueue[string]) bool { return q.Stats().Queued == 1 },
		"Inspect": func(q *RateLimitingQueue[string]) bool { return len(q.Inspect().Queued) == 1 },
		"Get": func(q *RateLimitingQueue[string]) bool {
			item, _ := q.Get(ctx)
			return item == "a"
		},
		"Add": func(q *RateLimitingQueue[string]) bool {
			q.Add("z")
			item, _ := q.Get(ctx)
			return item == "a"
		},
		"AddAll": func(q *RateLimitingQueue[string]) bool {
			q.AddAll([]string{"z"})
			item, _ := q.Get(ctx)
			return item == "a"
		},
		"AddAfter": func(q *RateLimitingQueue[string]) bool {
			q.AddAfter("a", time.Hour)
			s := q.Stats()
			return s.Queued == 1 && s.Delayed == 0 // the earlier request counts
		},
		"Park": func(q *RateLimitingQueue[string]) bool {
			q.Park("a", func(func()) func() { return nil }, time.Hour)
			s := q.Stats()
			return s.Parked == 1 && s.Queued == 0 && s.Added == 1
		},
		"Barrier": func(q *RateLimitingQueue[string]) bool {
			select {
			case <-q.Barrier():
				return false
			default:
				return true
			}
		},
		"PauseGroup": func(q *RateLimitingQueue[string]) bool {
			return q.PauseGroup("a") == nil && q.Stats().Paused == 1
		},
		"ShutDown": func(q *RateLimitingQueue[string]) bool {
			q.ShutDown()
			item, ok := q.Get(ctx)
			return ok && item == "a"
		},
		"ShutDownWithDrain": func(q *RateLimitingQueue[string]) bool {
			ended, cancel := context.WithCancel(ctx)
			cancel()
			return q.ShutDownWithDrain(ended) != nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := NewRateLimiting[string](nil, Options[string]{Group: func(s string) string { return s }})
			defer q.ShutDown()
			var r request[string]
			q.engine.prepare(&r, "a")
			q.engine.mu.Lock()
			require.False(t, q.engine.lockOrPut(&r, 0), "it is left to the next holder of the lock")
			q.engine.mu.Unlock()
			assert.True(t, finds(q))
		})
	}
}

// Otherwise one operation could have to add for others as long as those go on.
func TestInboxHasRoomOnlyForSoManyAddsPerOperation(t *testing.T) {
	t.Parallel()
	q := New(Options[int]{})
	e := q.engine
	put := func(item int) bool {
		var r request[int]
		e.prepare(&r, item)
		return e.inboxOrNew().put(&r, 0)
	}
	n := 0
	fill := func(upTo int) {
		for ; n < upTo; n++ {
			require.True(t, put(n))
		}
	}
	e.lock()
	fill(inboxSize)
	assert.False(t, put(n), "so many at a time")
	for n < inboxTurn {
		e.receiveLocked(false)
		require.Equal(t, n, e.order.n)
		fill(n + inboxSize)
	}
	e.receiveLocked(false)
	assert.False(t, put(n), "an operation that has added enough gives no room")
	e.unlock()
	assert.False(t, put(n))
	require.Equal(t, n, q.Len(), "this one is another operation")
	fill(n + 1)
	assert.Equal(t, n, q.Len())
}

// An Add that finds no room waits for the lock like everything else.
func TestAddWithoutRoomInTheInboxWaitsForTheLock(t *testing.T) {
	t.Parallel()
	q := New(Options[int]{})
	var want []int
	q.engine.lock()
	for i := range inboxSize {
		q.Add(i)
		want = append(want, i)
	}
	added := addThatWaits(t, q, inboxSize)
	q.engine.unlock()
	<-added
	assert.Equal(t, append(want, inboxSize), taken(t, q))
}

// What it was when it was added is part of the record.
func TestAddThatIsRecordedWaitsForTheLock(t *testing.T) {
	t.Parallel()
	recorder := history.New(history.Options{})
	q := New(Options[string]{History: recorder})
	q.engine.lock()
	added := addThatWaits(t, q, "a")
	q.engine.unlock()
	<-added
	assert.Nil(t, q.engine.inbox.Load())
	assert.Equal(t, []string{"a"}, taken(t, q))
}

// addThatWaits begins to add an item, and fails the test if that ends while the lock is held, as it
// is now. It returns a channel that is closed when it ends.
func addThatWaits[T comparable](t *testing.T, q *Queue[T], item T) (added chan struct{}) {
	t.Helper()
	added = make(chan struct{})
	go func() {
		q.Add(item)
		close(added)
	}()
	for range 10_000 { // turns, any of which would let it end
		runtime.Gosched()
		select {
		case <-added:
			t.Fatal("added without the lock")
		default:
		}
	}
	return added
}

// The holder of the lock may have looked before the request was in the inbox.
func TestAddLooksIntoTheInboxItself(t *testing.T) {
	t.Parallel()
	q := New(Options[string]{})
	e := q.engine
	var r request[string]
	e.prepare(&r, "a")
	require.True(t, e.inboxOrNew().put(&r, 0))
	q.Add("b") // finds requests there, and so takes the lock for taken
	assert.Equal(t, 2, e.order.n)
	assert.Equal(t, []string{"a", "b"}, taken(t, q))
}

// Only an operation that is about something else gives room, be it an Add.
func TestWhoEmptiesTheInboxForOthersGivesNoRoom(t *testing.T) {
	t.Parallel()
	q := New(Options[string]{})
	q.engine.lock()
	q.Add("a")
	q.engine.unlock()
	in := q.engine.inbox.Load()
	assert.Equal(t, 1, in.spent)
	q.Add("b")
	assert.Zero(t, in.spent)
}

// An item may be all that keeps a large string.
func TestInboxKeepsNoItems(t *testing.T) {
	t.Parallel()
	q := New(Options[string]{})
	for range 2 { // the two slices take turns
		q.engine.lock()
		q.Add("a")
		q.Add("b")
		q.engine.unlock()
	}
	taken(t, q)
	in := q.engine.inbox.Load()
	for _, requests := range [][]timedRequest[string]{in.requests, in.spare} {
		assert.Empty(t, requests)
		for _, r := range requests[:cap(requests)] {
			assert.Zero(t, r)
		}
	}
}

// A queue at whose lock nobody meets has no inbox.
func TestInboxIsMadeWhenItIsNeeded(t *testing.T) { // not parallel, as it counts allocations
	q := New(Options[int]{})
	q.Add(1)
	taken(t, q)
	assert.Nil(t, q.engine.inbox.Load())
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		q.engine.lock()
		q.Add(1)
		q.engine.unlock()
		item, _ := q.Get(t.Context())
		q.Done(item)
	}), "and only once")
	assert.NotNil(t, q.engine.inbox.Load())
}

// An add after the shutdown is ignored, wherever it waits.
func TestShutdownRefusesWhatComesIntoTheInboxDuringIt(t *testing.T) {
	t.Parallel()
	q := New(Options[string]{})
	q.engine.lock()
	q.engine.closeLocked()
	q.Add("a")
	q.engine.unlock()
	assert.Zero(t, q.Len())
}

// callbacks counts what the metrics get.
type callbacks struct {
	added, started atomic.Int64
	onAdded        func()
}

func (c *callbacks) Added(n int)            { c.added.Add(int64(n)); c.onAdded() }
func (c *callbacks) Retried()               {}
func (c *callbacks) Started(time.Duration)  { c.started.Add(1) }
func (c *callbacks) Finished(time.Duration) {}

// Who reads the length of a queue may hold a lock that the metrics take.
func TestReadersDoNotCallTheMetrics(t *testing.T) {
	t.Parallel()
	m := &callbacks{}
	q := New(Options[string]{Metrics: m})
	reading := false
	m.onAdded = func() { assert.False(t, reading) }
	q.engine.lock()
	q.Add("a")
	q.Add("a")
	q.Add("b")
	assert.Zero(t, m.added.Load(), "they wait in the inbox")
	reading = true
	q.engine.unlock()
	q.Len()
	q.Stats()
	q.Inspect()
	q.Barrier()
	reading = false
	assert.Zero(t, m.added.Load())
	item, _ := q.Get(t.Context())
	assert.EqualValues(t, 2, m.added.Load(), "by then at the latest")
	q.Done(item)
	assert.EqualValues(t, 2, m.added.Load())
}

// Each of them reports by itself, without another operation that follows.
func TestWhatAddsReportsToTheMetrics(t *testing.T) {
	t.Parallel()
	for name, add := range map[string]func(q *DelayingQueue[string]){
		"Add":                func(q *DelayingQueue[string]) { q.Add("a") },
		"Add of a class":     func(q *DelayingQueue[string]) { q.PriorityClass(1).Add("a") },
		"AddAll":             func(q *DelayingQueue[string]) { q.AddAll([]string{"a", "a"}) },
		"AddAfter":           func(q *DelayingQueue[string]) { q.AddAfter("a", 0) },
		"Park without until": func(q *DelayingQueue[string]) { q.Park("a", nil, 0) },
		"a condition that is met": func(q *DelayingQueue[string]) {
			q.Park("a", func(met func()) func() { met(); return nil }, 0)
		},
		"Add into the inbox": func(q *DelayingQueue[string]) {
			var r request[string]
			q.engine.prepare(&r, "a")
			q.engine.inboxOrNew().put(&r, 0)
			q.Add("a")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &callbacks{onAdded: func() {}}
			q := NewDelaying(Options[string]{Metrics: m})
			add(q)
			assert.EqualValues(t, 1, m.added.Load())
		})
	}
}

// The item waits since Add, and not since the holder of the lock has added it.
func TestInboxKeepsTheTimeOfTheAdd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[string]{Times: true})
		began := time.Now()
		q.engine.lock()
		q.Add("a")
		time.Sleep(time.Minute)
		q.engine.unlock()
		assert.Equal(t, began, q.Inspect().Queued[0].QueuedSince)
	})
}

// Producers, workers and readers meet at the lock all the time. Every item that was added before the
// shutdown began is handed out, and whatever a goroutine adds is there when it asks.
func TestNothingIsLostWhereManyMeetAtTheLock(t *testing.T) {
	t.Parallel()
	const producers, workers, rounds = 4, 3, 40
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for round := range rounds {
		var m callbacks
		m.onAdded = func() {}
		opts := Options[string]{}
		if round%2 == 1 {
			opts.Metrics = &m
		}
		q := New(opts)
		var handedOut sync.Map
		var working, producing sync.WaitGroup
		for range workers {
			working.Go(func() {
				for {
					item, ok := q.Get(context.Background())
					if !ok {
						return
					}
					_, twice := handedOut.LoadOrStore(item, true)
					assert.False(t, twice, item)
					q.Done(item)
				}
			})
		}
		const each = 300
		for p := range producers {
			producing.Go(func() {
				r := rand.New(rand.NewPCG(seed, uint64(round*producers+p)))
				for i := range each {
					item := fmt.Sprint(p, "/", i)
					q.Add(item)
					if r.IntN(8) == 0 {
						<-q.Barrier()
						_, done := handedOut.Load(item)
						assert.True(t, done, "%s was added before the barrier", item)
					}
				}
			})
		}
		producing.Wait()
		q.ShutDown()
		working.Wait()
		n := 0
		handedOut.Range(func(any, any) bool { n++; return true })
		require.Equal(t, producers*each, n)
		if opts.Metrics != nil {
			require.EqualValues(t, producers*each, m.added.Load())
			require.EqualValues(t, producers*each, m.started.Load())
		}
		require.EqualValues(t, producers*each, q.Stats().Added)
	}
}

// Items of one producer keep their order, whichever goroutine puts them into the queue.
func TestItemsAreInTheOrderOfTheirAddsWhereManyMeetAtTheLock(t *testing.T) {
	t.Parallel()
	const producers, each = 4, 5000
	q := New(Options[[2]int]{})
	var producing sync.WaitGroup
	for p := range producers {
		producing.Go(func() {
			for i := range each {
				q.Add([2]int{p, i})
			}
		})
	}
	var next [producers]int
	for range producers * each {
		item, _ := q.Get(t.Context())
		require.Equal(t, next[item[0]], item[1], "of producer %d", item[0])
		next[item[0]]++
		q.Done(item)
	}
	producing.Wait()
}
