package sharding

import (
	"context"
	"sync"

	"github.com/informerkit/informerkit/workqueue"
)

// gate stands between the queue and the reconcile function, for the keys of one part. It
// lets a key through only while this replica may work on the part.
//
//	state    a key that a worker brings is          how it begins
//	gone     dropped: it is another replica's       drop
//	closed   remembered                             hold, drain
//	open     processed                              open: those remembered are added to the queue
//
// The queue knows nothing of this, and keeps no key for the sake of a part. A key is
// dropped without loss: the next owner of the part processes all of its keys.
type gate struct {
	// add adds a key to the queue. It is called without a lock of the gate.
	add func(Key)

	mu         sync.Mutex
	part       *Part // nil: gone
	isOpen     bool
	running    int            // calls of the function
	idle       chan struct{}  // closed when running gets to 0; nil if nothing waits for that
	remembered map[Key]bool   // keys that came while it was closed
	order      []Key          // the same, in the order in which they came
	later      map[Key]func() // keys whose last call asked for another one, and what ends a park, if there is one
}

// pass calls fn for a key if the gate is open, and remembers or drops the key if not.
func (g *gate) pass(ctx context.Context, key Key, fn func(context.Context, *Part, Key) (workqueue.Result, error)) (result workqueue.Result, err error) {
	part := g.enter(key)
	if part == nil {
		return workqueue.Result{}, nil
	}
	again := true // also after a panic: the queue retries the key
	defer func() { g.leave(key, again) }()
	result, err = fn(ctx, part, key)
	again = err != nil || result.RequeueAfter > 0
	if result.Until != nil {
		result.Until = g.until(key, result.Until)
	}
	return result, err
}

// enter returns the part of the key if it may be processed. Then leave must follow.
func (g *gate) enter(key Key) *Part {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.later, key)
	if g.part == nil {
		return nil
	}
	if !g.isOpen {
		g.rememberLocked(key)
		return nil
	}
	g.running++
	return g.part
}

// leave notes that a call has ended, and whether the queue will bring the key again.
func (g *gate) leave(key Key, again bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if again {
		g.laterLocked(key, nil)
	}
	if g.running--; g.running == 0 && g.idle != nil {
		close(g.idle)
		g.idle = nil
	}
}

// until returns a condition that is also met when the part is given up, so that the queue
// does not park a key of another replica.
func (g *gate) until(key Key, condition workqueue.Condition) workqueue.Condition {
	return untilGone{condition, g, key}
}

// untilGone is what until returns.
type untilGone struct {
	workqueue.Condition
	g   *gate
	key Key
}

func (u untilGone) Register(met func()) (cancel func()) {
	u.g.mu.Lock()
	gone := u.g.part == nil
	if !gone {
		u.g.laterLocked(u.key, met)
	}
	u.g.mu.Unlock()
	if gone {
		met()
	}
	return u.Condition.Register(met)
}

func (g *gate) laterLocked(key Key, met func()) {
	if g.later == nil {
		g.later = map[Key]func(){}
	}
	g.later[key] = met
}

// remember has a key processed when the gate is opened.
func (g *gate) remember(key Key) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rememberLocked(key)
}

func (g *gate) rememberLocked(key Key) {
	if g.remembered == nil {
		g.remembered = map[Key]bool{}
	}
	if !g.remembered[key] {
		g.remembered[key] = true
		g.order = append(g.order, key)
	}
}

// hold begins to remember keys of a part that is held now.
func (g *gate) hold(part *Part) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.part = part
}

// held returns the part, or nil if it is gone.
func (g *gate) held() *Part {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.part
}

// open lets keys through. Those remembered are added to the queue, in the order in which they came.
func (g *gate) open() {
	g.mu.Lock()
	g.isOpen = true
	keys := g.forgetLocked()
	g.mu.Unlock()
	for _, key := range keys {
		g.add(key)
	}
}

func (g *gate) forgetLocked() []Key {
	keys := g.order
	g.remembered, g.order = nil, nil
	return keys
}

// drain closes the gate, and waits until no key of the part is in progress. If ctx ends first
// it returns the cause, and the gate stays closed. A function that the gate has called must not call it.
func (g *gate) drain(ctx context.Context) error {
	g.mu.Lock()
	g.isOpen = false
	if g.running == 0 {
		g.mu.Unlock()
		return nil
	}
	if g.idle == nil {
		g.idle = make(chan struct{})
	}
	idle := g.idle
	g.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// drop says that the part is gone, and forgets its keys. It returns those that were remembered. Those
// that the queue would bring later, after a delay or a park, are added now: a worker brings
// them to the gate, which drops them.
func (g *gate) drop() (dropped []Key) {
	g.mu.Lock()
	g.part, g.isOpen = nil, false
	dropped = g.forgetLocked()
	later := g.later
	g.later = nil
	g.mu.Unlock()
	for key, met := range later {
		g.add(key)
		if met != nil {
			met()
		}
	}
	return dropped
}
