package workqueue_test

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/workqueue"
)

// Under real concurrency there is no single right answer to compare with, but
// there must be an order of the operations, each placed somewhere between its
// call and its return, that explains all answers. Items do not influence each
// other but for their order, so each item's history is explained on its own.

type opKind int

const (
	opAdd opKind = iota
	opTake
	opDone
)

type histOp struct {
	kind        opKind
	item        int
	call, ended int64 // ticks of a clock that orders all calls and returns
}

// state of one item; the transitions are the whole specification.
type itemState int

const (
	absent itemState = iota
	queued
	running
	again
	impossible
)

func (s itemState) after(k opKind) itemState {
	switch k {
	case opAdd:
		return [...]itemState{absent: queued, queued: queued, running: again, again: again}[s]
	case opTake:
		return [...]itemState{absent: impossible, queued: running, running: impossible, again: impossible}[s]
	default:
		return [...]itemState{absent: absent, queued: queued, running: absent, again: queued}[s]
	}
}

// linearizable searches an order that explains the history of one item and
// leaves it absent, as it is once the queue was drained.
func linearizable(history []histOp) bool {
	slices.SortFunc(history, func(a, b histOp) int { return int(a.call - b.call) })
	type position struct {
		placed [6]uint64 // a bit for each operation
		state  itemState
	}
	seen := map[position]bool{}
	var search func(p position, first int) bool
	search = func(p position, first int) bool {
		placed := func(i int) bool { return p.placed[i/64]>>(i%64)&1 != 0 }
		for first < len(history) && placed(first) {
			first++
		}
		if first == len(history) {
			return p.state == absent
		}
		if seen[p] {
			return false
		}
		seen[p] = true
		// Whatever was called before the first return of all that are not
		// placed yet may come next.
		soonest := history[first].ended
		for i := first; i < len(history) && history[i].call <= soonest; i++ {
			if placed(i) {
				continue
			}
			soonest = min(soonest, history[i].ended)
			next := position{p.placed, p.state.after(history[i].kind)}
			next.placed[i/64] |= 1 << (i % 64)
			if next.state != impossible && search(next, first) {
				return true
			}
		}
		return false
	}
	return search(position{}, 0)
}

func TestCheckerOfHistoriesKnowsGoodFromBad(t *testing.T) {
	t.Parallel()
	require.True(t, linearizable([]histOp{{opAdd, 0, 1, 4}, {opTake, 0, 2, 3}, {opDone, 0, 5, 6}}))
	require.False(t, linearizable([]histOp{{opAdd, 0, 1, 2}}), "lost")
	require.False(t, linearizable([]histOp{{opTake, 0, 1, 2}, {opAdd, 0, 3, 4}, {opDone, 0, 5, 6}}), "out of nothing")
	require.False(t, linearizable([]histOp{
		{opAdd, 0, 1, 2}, {opTake, 0, 3, 4}, {opAdd, 0, 5, 6}, {opTake, 0, 7, 8}, {opDone, 0, 9, 10}, {opDone, 0, 11, 12},
	}), "handed out twice at once")
}

// Promise workqueue/1
func TestConcurrentHistoriesAreLinearizable(t *testing.T) {
	t.Parallel()
	r := newRand(t)
	for name, opts := range modelConfigs() {
		t.Run(name, func(t *testing.T) {
			for range 60 {
				history := record(t, opts, rand.New(rand.NewPCG(r.Uint64(), 2)))
				for item, h := range history {
					require.True(t, linearizable(h), "item %d: %v", item, h)
				}
			}
		})
	}
}

// record lets goroutines loose on a queue and returns what they saw, by item.
func record(t *testing.T, opts workqueue.Options[int], r *rand.Rand) map[int][]histOp {
	const adders, takers, items, adds = 4, 4, 3, 60
	q := workqueue.New(opts)
	var clock atomic.Int64
	var mu sync.Mutex
	history := map[int][]histOp{}
	keep := func(ops []histOp) {
		mu.Lock()
		defer mu.Unlock()
		for _, op := range ops {
			history[op.item] = append(history[op.item], op)
		}
	}
	var producers, consumers sync.WaitGroup
	for range adders {
		seed := r.Uint64()
		producers.Go(func() {
			r := rand.New(rand.NewPCG(seed, 3))
			var ops []histOp
			for range adds {
				op := histOp{kind: opAdd, item: r.IntN(items), call: clock.Add(1)}
				if r.IntN(8) == 0 {
					op.kind = opDone // a stray one, or another worker's
					op.item = items  // of an item that is never added
					q.Done(op.item)
				} else {
					q.PriorityClass(r.IntN(3)).Add(op.item)
				}
				op.ended = clock.Add(1)
				ops = append(ops, op)
				if r.IntN(4) == 0 {
					runtime.Gosched()
				}
			}
			keep(ops)
		})
	}
	for range takers {
		consumers.Go(func() {
			var ops []histOp
			for {
				take := histOp{kind: opTake, call: clock.Add(1)}
				item, ok := q.Get(t.Context())
				if !ok {
					break
				}
				take.item, take.ended = item, clock.Add(1)
				runtime.Gosched()
				done := histOp{kind: opDone, item: item, call: clock.Add(1)}
				q.Done(item)
				done.ended = clock.Add(1)
				ops = append(ops, take, done)
			}
			keep(ops)
		})
	}
	producers.Wait()
	require.NoError(t, q.ShutDownWithDrain(t.Context()))
	consumers.Wait()
	return history
}
