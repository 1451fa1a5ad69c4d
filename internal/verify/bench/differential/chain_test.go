package differential

import (
	"fmt"
	"slices"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// state names one state of one object.
type state struct {
	uid     types.UID
	version string
}

func stateOf(p *corev1.Pod) state { return state{p.UID, p.ResourceVersion} }

// delivery is one delivered event, in this library's terms.
type delivery struct {
	stretch int // of the history; see world.stretch
	typ     string
	old     state
	now     state // of a deletion: the final one, if it was seen
	initial bool
	unseen  bool
}

func (e delivery) String() string {
	s := fmt.Sprintf("%s %s→%s", e.typ, e.old.version, e.now.version)
	if e.initial {
		s += " initial"
	}
	if e.unseen {
		s += " unseen"
	}
	return s
}

const (
	added   = "added"
	updated = "updated"
	deleted = "deleted"
)

// chains holds all events delivered to one handler: one chain per object.
type chains struct {
	server *record // what is true
	gate   *gate

	mu      sync.Mutex
	events  map[types.NamespacedName][]delivery
	known   map[types.NamespacedName]state
	resyncs map[types.NamespacedName]int
	calls   int
	wrong   []string // events that must never be delivered
}

func newChains(server *record, g *gate) *chains {
	return &chains{
		server: server, gate: g,
		events: map[types.NamespacedName][]delivery{}, known: map[types.NamespacedName]state{}, resyncs: map[types.NamespacedName]int{},
	}
}

// deliver records an event, after checking that it follows from the one before.
func (c *chains) deliver(key types.NamespacedName, e delivery) {
	e.stretch = c.server.stretchNow()
	before, known := c.known[key]
	switch {
	case e.typ == added && known:
		c.fault("%s: %v, but there is %v", key, e, before)
	case e.typ != added && !known:
		c.fault("%s: %v, but there is none", key, e)
	case e.typ != added && e.old != before:
		c.fault("%s: %v, but there is %v", key, e, before)
	case e.typ == updated && number(e.now) <= number(before):
		c.fault("%s: %v is not newer", key, e)
	case e.typ != deleted && !c.server.has(key, e.now):
		c.fault("%s: %v never was", key, e)
	}
	if e.typ == deleted {
		delete(c.known, key)
	} else {
		c.known[key] = e.now
	}
	c.events[key] = append(c.events[key], e)
}

// again records that a state was delivered that the handler has seen.
func (c *chains) again(key types.NamespacedName, s state) {
	if known, ok := c.known[key]; !ok || known != s {
		c.fault("%s: delivered again: %v, but there is %v", key, s, known)
	}
	c.resyncs[key]++
}

func (c *chains) fault(format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
}

// enter begins a call of the handler; while it is stalled, that takes long.
func (c *chains) enter() {
	c.gate.pass()
	c.mu.Lock()
	c.calls++
}

func (c *chains) exit() { c.mu.Unlock() }

// strict returns the chain of one object without what happened in stretches in
// which the two sides may have seen different things.
func (c *chains) strict(key types.NamespacedName) []delivery {
	return slices.DeleteFunc(slices.Clone(c.events[key]), func(e delivery) bool { return isLoose(e.stretch) })
}

// number returns a version as a number.
func number(s state) int {
	n, err := strconv.Atoi(s.version)
	if err != nil {
		panic(err) // informertest's are numbers
	}
	return n
}

// gate lets calls pass, or holds them up.
type gate struct {
	mu     sync.Mutex
	closed chan struct{} // nil: open
}

func (g *gate) pass() {
	g.mu.Lock()
	c := g.closed
	g.mu.Unlock()
	if c != nil {
		<-c
	}
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed == nil {
		g.closed = make(chan struct{})
	}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed != nil {
		close(g.closed)
		g.closed = nil
	}
}

func (g *gate) isClosed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed != nil
}
