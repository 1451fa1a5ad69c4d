package workqueue_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/workqueue"
)

// The random tests drive a queue and the model below with the same operations
// and demand the same answers. The model is written to be obviously right: it
// keeps slices and maps and searches them.

type modelItem struct {
	item  int
	class int
	due   time.Time
}

// modelPark holds an item back.
type modelPark struct {
	class   int
	until   time.Time
	due     time.Time  // when the item is asked for; zero if it is not
	request *modelItem // what was added before or meanwhile
	met     func()     // meets the queue's condition
}

type model struct {
	maxWait []time.Duration
	grouped bool

	queued  []modelItem       // in order of arrival in their class
	urgent  int               // hand-outs since the last to an overdue class
	shared  int               // the class that had it
	turns   map[int][]int     // by class: the groups with queued items, next turn first
	running map[int]modelItem // by item
	again   map[int]modelItem
	delayed map[int]modelItem // due is the end of the delay
	parked  map[int]modelPark

	shut  bool
	stats workqueue.Stats
}

func newModel(opts workqueue.Options[int]) *model {
	m := &model{maxWait: opts.MaxWait, grouped: opts.Group != nil, urgent: 3}
	if len(m.maxWait) == 0 {
		m.maxWait = []time.Duration{0}
	}
	m.turns = map[int][]int{}
	m.running, m.again, m.delayed = map[int]modelItem{}, map[int]modelItem{}, map[int]modelItem{}
	m.parked = map[int]modelPark{}
	return m
}

func modelGroup(item int) int { return item % 5 }
func modelClass(item int) int { return item / 3 % 4 }

func (m *model) clamp(class int) int { return min(max(class, 0), len(m.maxWait)-1) }

func (m *model) find(item int) int {
	return slices.IndexFunc(m.queued, func(q modelItem) bool { return q.item == item })
}

func (m *model) push(x modelItem, now time.Time) {
	x.due = now.Add(m.maxWait[x.class])
	m.queued = append(m.queued, x)
	if g := modelGroup(x.item); m.grouped && !slices.Contains(m.turns[x.class], g) {
		m.turns[x.class] = append(m.turns[x.class], g)
	}
}

func (m *model) unqueue(i int) modelItem {
	x := m.queued[i]
	m.queued = slices.Delete(m.queued, i, i+1)
	more := slices.ContainsFunc(m.queued, func(q modelItem) bool {
		return q.class == x.class && modelGroup(q.item) == modelGroup(x.item)
	})
	if m.grouped && !more {
		m.turns[x.class] = slices.DeleteFunc(m.turns[x.class], func(g int) bool { return g == modelGroup(x.item) })
	}
	return x
}

func (m *model) ask(item, class int, now time.Time) {
	m.stats.Added++
	x := modelItem{item: item, class: class}
	if _, running := m.running[item]; running {
		m.again[item] = x
		return
	}
	if p, ok := m.parked[item]; ok {
		p.request = &x
		m.parked[item] = p
		return
	}
	m.push(x, now)
}

func (m *model) add(item, class int, now time.Time) {
	if m.shut {
		return
	}
	class = m.clamp(class)
	if i := m.find(item); i >= 0 {
		if class < m.queued[i].class {
			x := m.unqueue(i)
			x.class = class
			m.push(x, now)
		}
		return
	}
	if x, ok := m.again[item]; ok {
		x.class = min(x.class, class)
		m.again[item] = x
		return
	}
	if p, ok := m.parked[item]; ok {
		if p.request != nil {
			p.request.class = min(p.request.class, class)
			return
		}
		p.class = min(p.class, class)
		class = p.class
		m.parked[item] = p
	}
	if d, ok := m.delayed[item]; ok {
		delete(m.delayed, item)
		class = min(d.class, class)
	}
	m.ask(item, class, now)
}

func (m *model) addAfter(item, class int, d time.Duration, now time.Time) {
	if m.shut {
		return
	}
	if _, again := m.again[item]; again || m.find(item) >= 0 {
		return
	}
	if p, ok := m.parked[item]; ok {
		at := now.Add(max(0, d))
		if p.request == nil && (p.due.IsZero() || at.Before(p.due)) {
			p.due = at
			m.parked[item] = p
		}
		return
	}
	class = m.clamp(class)
	if r, ok := m.running[item]; ok {
		class = r.class
	}
	x := modelItem{item: item, class: class, due: now.Add(d)}
	if old, ok := m.delayed[item]; ok {
		x.class = old.class
		if !x.due.Before(old.due) {
			return
		}
	}
	if d <= 0 {
		delete(m.delayed, item)
		m.ask(item, x.class, now)
		return
	}
	m.delayed[item] = x
}

func (m *model) park(item, class int, timeout time.Duration, now time.Time, met func()) {
	if m.shut {
		if _, ok := m.again[item]; ok {
			delete(m.again, item)
			m.stats.ShutdownLosses++
		}
		return
	}
	p, parked := m.parked[item]
	if !parked {
		p.class = m.clamp(class)
		if r, ok := m.running[item]; ok {
			p.class = r.class
		}
		if x, ok := m.again[item]; ok {
			p.class = x.class
		}
		if i := m.find(item); i >= 0 {
			x := m.unqueue(i)
			p.request = &x
		}
		if x, ok := m.delayed[item]; ok {
			p.class = x.class
			delete(m.delayed, item)
		}
	}
	p.until, p.due, p.met = now.Add(timeout), now, met
	m.parked[item] = p
}

func (m *model) unpark(item int, now time.Time) {
	p := m.parked[item]
	delete(m.parked, item)
	_, again := m.again[item]
	switch {
	case again:
	case p.request != nil:
		m.push(*p.request, now)
	case !p.due.After(now):
		m.ask(item, p.class, now)
	default:
		m.delayed[item] = modelItem{item: item, class: p.class, due: p.due}
	}
}

// release queues what became due up to now, in the order of the deadlines.
func (m *model) release(now time.Time) {
	for {
		var first *modelItem
		for item, p := range m.parked {
			if !p.until.After(now) && (first == nil || p.until.Before(first.due)) {
				first = &modelItem{item: item, due: p.until}
			}
		}
		for _, x := range m.delayed {
			if !x.due.After(now) && (first == nil || x.due.Before(first.due)) {
				first = &x
			}
		}
		if first == nil {
			return
		}
		if p, ok := m.parked[first.item]; ok && p.until.Equal(first.due) {
			m.stats.ParkTimeouts++
			m.unpark(first.item, first.due)
			continue
		}
		delete(m.delayed, first.item)
		m.ask(first.item, first.class, first.due)
	}
}

// overdue says whether a class has an item that has waited for its bound.
func (m *model) overdue(class int, now time.Time) bool {
	return slices.ContainsFunc(m.queued, func(x modelItem) bool { return x.class == class && !x.due.After(now) })
}

// nextClass finds the class to serve: the most urgent, but after three such
// hand-outs the next overdue one in a circle of all but the first.
func (m *model) nextClass(now time.Time) int {
	if m.urgent >= 3 {
		var circle []int
		for c := 1; c < len(m.maxWait); c++ {
			circle = append(circle, c)
		}
		for len(circle) > 0 && m.shared != 0 && circle[len(circle)-1] != m.shared {
			circle = append(circle[1:], circle[0])
		}
		for _, c := range circle {
			if m.overdue(c, now) {
				m.urgent, m.shared = 0, c
				return c
			}
		}
	}
	m.urgent++
	for c := 0; ; c++ {
		if slices.ContainsFunc(m.queued, func(x modelItem) bool { return x.class == c }) {
			return c
		}
	}
}

func (m *model) take(now time.Time) int {
	class := m.nextClass(now)
	i := slices.IndexFunc(m.queued, func(x modelItem) bool {
		return x.class == class && (!m.grouped || modelGroup(x.item) == m.turns[class][0])
	})
	if m.grouped {
		m.turns[class] = append(m.turns[class][1:], m.turns[class][0])
	}
	x := m.unqueue(i)
	m.running[x.item] = x
	return x.item
}

func (m *model) done(item int, now time.Time) {
	if _, ok := m.running[item]; !ok {
		return
	}
	delete(m.running, item)
	if x, ok := m.again[item]; ok {
		delete(m.again, item)
		if p, ok := m.parked[item]; ok {
			p.request = &x
			m.parked[item] = p
			return
		}
		m.push(x, now)
	}
}

func (m *model) shutDown() {
	if !m.shut {
		m.stats.ShutdownLosses += uint64(len(m.delayed))
		clear(m.delayed)
		m.stats.ShutdownLosses += uint64(len(m.parked))
		for item := range m.parked {
			delete(m.again, item)
		}
		clear(m.parked)
		m.shut = true
	}
}

func (m *model) wantStats() workqueue.Stats {
	s := m.stats
	s.Queued, s.Again, s.Delayed, s.Running = len(m.queued), len(m.again), len(m.delayed), len(m.running)
	s.Parked = len(m.parked)
	return s
}

// freeDelay returns a delay that ends when no other does: among equal
// deadlines the order is not promised.
func (m *model) freeDelay(r *rand.Rand, now time.Time) time.Duration {
	for {
		d := time.Duration(r.Int64N(int64(20 * time.Second)))
		clash := false
		for _, x := range m.delayed {
			clash = clash || x.due.Equal(now.Add(d))
		}
		for _, p := range m.parked {
			clash = clash || p.until.Equal(now.Add(d))
		}
		if !clash {
			return d
		}
	}
}

func modelConfigs() map[string]workqueue.Options[int] {
	group := func(item int) string { return fmt.Sprint(modelGroup(item)) }
	maxWait := []time.Duration{0, 5 * time.Second, time.Second, time.Minute}
	return map[string]workqueue.Options[int]{
		"fifo":               {},
		"fifo with times":    {Times: true},
		"classes":            {MaxWait: maxWait, PriorityClass: modelClass},
		"groups":             {Group: group},
		"groups and classes": {MaxWait: maxWait, Group: group},
	}
}

func TestQueueBehavesLikeTheModel(t *testing.T) {
	t.Parallel()
	for name, opts := range modelConfigs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRand(t)
			for ops := *opsFlag; ops > 0; ops -= 2000 {
				synctest.Test(t, func(t *testing.T) { playAgainstModel(t, r, opts, min(ops, 2000)) })
			}
		})
	}
}

func playAgainstModel(t *testing.T, r *rand.Rand, opts workqueue.Options[int], ops int) {
	q := workqueue.NewDelaying(opts)
	m := newModel(opts)
	items := 1 + r.IntN(60)
	done, cancel := context.WithCancel(t.Context())
	cancel()

	for range ops {
		item, class, now := r.IntN(items), r.IntN(5), time.Now()
		own := 0
		if opts.PriorityClass != nil {
			own = modelClass(item)
		}
		switch op := r.IntN(100); {
		case op < 20:
			q.Add(item)
			m.add(item, own, now)
		case op < 30:
			q.PriorityClass(class).Add(item)
			m.add(item, class, now)
		case op < 33:
			batch := []int{item, r.IntN(items), item}
			addAll(q, batch)
			for _, x := range batch {
				own := 0
				if opts.PriorityClass != nil {
					own = modelClass(x)
				}
				m.add(x, own, now)
			}
		case op < 45:
			d := m.freeDelay(r, now) - time.Second // sometimes not positive
			q.AddAfter(item, d)
			m.addAfter(item, own, d, now)
		case op < 51:
			timeout := m.freeDelay(r, now) + time.Second
			met := make(chan func(), 1)
			q.Park(item, workqueue.ConditionFunc(func(f func()) (cancel func()) { met <- f; return nil }), timeout)
			select {
			case f := <-met:
				m.park(item, own, timeout, now, f)
			default:
				require.True(t, m.shut)
				m.park(item, own, timeout, now, nil)
			}
		case op < 55:
			for parked, p := range m.parked {
				p.met()
				p.met()
				m.unpark(parked, now)
				break
			}
		case op < 72:
			if len(m.queued) == 0 {
				_, ok := q.Get(done)
				require.False(t, ok)
				break
			}
			got, ok := q.Get(t.Context())
			require.True(t, ok)
			require.Equal(t, m.take(time.Now()), got)
		case op < 90:
			q.Done(item) // often a stray one
			m.done(item, now)
		case op < 99:
			advance(time.Duration(r.Int64N(int64(3 * time.Second))))
			m.release(time.Now())
		default:
			if r.IntN(10) == 0 {
				q.ShutDown()
				m.shutDown()
			}
		}
		require.Equal(t, m.wantStats(), withoutDurations(q.Stats()))
	}
	finishModel(t, q, m)
}

// finishModel drains the queue and compares the rest.
func finishModel(t *testing.T, q *workqueue.DelayingQueue[int], m *model) {
	drained := make(chan error, 1)
	go func() { drained <- q.ShutDownWithDrain(t.Context()) }()
	synctest.Wait()
	m.shutDown()
	for len(m.queued)+len(m.running) > 0 {
		for len(m.queued) > 0 {
			require.Equal(t, m.take(time.Now()), mustGet(t, q))
		}
		running := make([]int, 0, len(m.running))
		for item := range m.running {
			running = append(running, item)
		}
		for _, item := range running {
			q.Done(item)
			m.done(item, time.Now())
		}
	}
	require.NoError(t, <-drained)
	require.Equal(t, m.wantStats(), withoutDurations(q.Stats()))
}

func withoutDurations(s workqueue.Stats) workqueue.Stats {
	s.UnfinishedWork, s.LongestRunning = 0, 0
	return s
}
