package rows

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/internal/verify/bench"
)

// resyncPeriod is the shortest that both sides allow.
const resyncPeriod = time.Second

// resyncRows are what a resync of everything costs. Ours spreads one over its
// period in steps of at least a second, and over nothing if that is the period;
// so both sides deliver everything at once here.
func resyncRows() []bench.Row {
	const handlers = 5
	const what = "5 handlers of an informer of 100k pods have a resync period of a second, the shortest there is, which leaves ours nothing to spread it over. "
	row := func(work, does string, m bench.Measure, ratio float64, w func(shared, *feed) bench.Subject) bench.Row {
		return compareResyncs(bench.Row{
			Work: "resync of 100k objects, 5 handlers: " + work, Does: what + does,
			Measure: m, Repeat: 1, Rounds: 3, Want: bench.Target{Ratio: ratio},
		}, w)
	}
	return []bench.Row{
		row("time until delivered", "The time in a period during which any of them is receiving events.",
			bench.Latency, 3, resync(big, handlers)),
		row("peak heap", "Each takes a microsecond for an event; the most that is on the heap in a period, garbage included, over what was in use before; no less than 8 kB is counted.",
			bench.Memory, 10, resyncHeap(big, handlers, time.Microsecond)),
	}
}

// page is the least reported growth of a heap: with zero growth the ratio would be
// infinite.
const page = 8192

// compareResyncs is compareInformers with informers that resync.
func compareResyncs(row bench.Row, work func(shared, *feed) bench.Subject) bench.Row {
	row = compareInformers(row, work)
	row.Theirs.Setup = func() bench.Subject {
		f := newFeed()
		return limited(row.Work, func() bench.Subject { return work(newClientGoResyncing(f), f) })
	}
	return row
}

// resyncing is an informer whose handlers may have a resync.
type resyncing interface {
	shared
	// AddResynced adds a handler that receives every object once per period.
	// It must be called before Start, so that all handlers sync together.
	AddResynced(onUpdate func(resync bool))
}

func (i ourInformer) AddResynced(onUpdate func(resync bool)) {
	must(i.inf.AddHandler(informer.HandlerFuncs[*corev1.Pod]{
		UpdateFunc: func(before, now *corev1.Pod) { onUpdate(before == now) },
	}, informer.HandlerOptions{ResyncPeriod: resyncPeriod, Overflow: informer.Lossless}))
}

func newClientGoResyncing(f *feed) shared { return clientGoInformerOf(f, resyncPeriod) }

func (i clientGoInformer) AddResynced(onUpdate func(resync bool)) {
	must(i.inf.AddEventHandlerWithResyncPeriod(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(before, now any) {
			was, ok := before.(*corev1.Pod)
			is, also := now.(*corev1.Pod)
			if ok && also {
				onUpdate(was == is)
			}
		},
	}, resyncPeriod))
}

// resync measures how long it takes.
func resync(objects, handlers int) func(shared, *feed) bench.Subject {
	return func(inf shared, f *feed) bench.Subject {
		f.fill(pods(objects, 1))
		r := newRounds(objects)
		for range handlers {
			inf.(resyncing).AddResynced(r.handler(func() {}))
		}
		inf.Start()
		r.next()
		var took time.Duration
		return bench.Subject{
			Run:   func(int) { took = covered(r.next()) },
			Value: func() float64 { return float64(took) },
		}
	}
}

// resyncHeap measures what it takes on the heap if handlers take a while for
// each event.
func resyncHeap(objects, handlers int, while time.Duration) func(shared, *feed) bench.Subject {
	return func(inf shared, f *feed) bench.Subject {
		f.fill(pods(objects, 1))
		r := newRounds(objects)
		// Only in the round that counts: a collection of garbage does not come
		// to an end on cores that have no moment to spare.
		var slow atomic.Bool
		for range handlers {
			deliver := r.handler(func() {})
			inf.(resyncing).AddResynced(func(resync bool) {
				if slow.Load() {
					for start := time.Now(); time.Since(start) < while; {
					}
				}
				deliver(resync)
			})
		}
		inf.Start()
		r.next()
		var most float64
		return bench.Subject{
			Run: func(int) {
				r.next() // so that there is a pause now
				_ = reachable()
				before := highest(heapInUse, func() {})
				slow.Store(true)
				most = highest(heapInUse, func() { r.next() }) - before
				slow.Store(false)
			},
			Value: func() float64 { return max(page, most) },
		}
	}
}

// rounds observes handlers during repeated resyncs. In each round each handler
// receives one event per object.
type rounds struct {
	objects int

	mu       sync.Mutex
	changed  *sync.Cond
	handlers []*handlerRounds
}

// handlerRounds are the rounds of one handler that have begun.
type handlerRounds struct {
	left  int // of the present round
	spans []span
	_     [32]byte // a cache line of its own
}

// span is the time in which a handler received one round. It has not ended yet if
// to is zero.
type span struct{ from, to time.Time }

func newRounds(objects int) *rounds {
	r := &rounds{objects: objects}
	r.changed = sync.NewCond(&r.mu)
	return r
}

// handler returns what a further handler has to call on each event.
func (r *rounds) handler(onUpdate func()) func(resync bool) {
	h := &handlerRounds{}
	r.handlers = append(r.handlers, h)
	return func(resync bool) {
		if !resync {
			onUpdate()
			return
		}
		if h.left == 0 {
			h.left = r.objects
			r.mu.Lock()
			h.spans = append(h.spans, span{from: time.Now()})
			r.mu.Unlock()
		}
		if h.left--; h.left == 0 {
			r.mu.Lock()
			h.spans[len(h.spans)-1].to = time.Now()
			r.changed.Signal()
			r.mu.Unlock()
		}
	}
}

// next waits for the next round, the first that no handler has begun, to end for
// all of them. It returns the span of each.
func (r *rounds) next() []span {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, h := range r.handlers {
		n = max(n, len(h.spans))
	}
	var spans []span
	for _, h := range r.handlers {
		for len(h.spans) <= n || h.spans[n].to.IsZero() {
			r.changed.Wait()
		}
		spans = append(spans, h.spans[n])
	}
	return spans
}

// covered returns how much time the spans cover together.
func covered(spans []span) (total time.Duration) {
	slices.SortFunc(spans, func(a, b span) int { return a.from.Compare(b.from) })
	var end time.Time
	for _, s := range spans {
		if s.from.Before(end) {
			s.from = end
		}
		if s.to.After(s.from) {
			total += s.to.Sub(s.from)
			end = s.to
		}
	}
	return total
}
