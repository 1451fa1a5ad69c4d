package informer

import (
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/indexer"
	"github.com/informerkit/informerkit/internal/object"
)

// observer is a handler that checks the promises about what is delivered to one handler,
// and keeps the view of the world that follows from it.
type observer struct {
	t     testing.TB
	cache snapshots // what promise 1 is about; nil leaves it unchecked
	// exists, if set, reports whether the server has the object of that UID.
	exists func(types.UID) bool

	running sync.Mutex // held during OnEvent

	mu     sync.Mutex
	view   map[types.NamespacedName]*pod
	events []Event[*pod]
	each   func(Event[*pod]) // called during OnEvent, if set
}

// snapshots is an informer, or an indexer.
type snapshots interface {
	Snapshot() *indexer.Snapshot[*pod]
}

func observe(t testing.TB, cache snapshots) *observer {
	return &observer{t: t, cache: cache, view: map[types.NamespacedName]*pod{}}
}

func (o *observer) OnEvent(e Event[*pod]) {
	if !o.running.TryLock() {
		o.t.Errorf("promise 2: a call began during another one: %v", describe(e))
		return
	}
	defer o.running.Unlock()
	if err := o.check(e); err != nil {
		o.t.Errorf("%v: %v", describe(e), err)
	}
	o.mu.Lock()
	if e.Type == Deleted {
		delete(o.view, e.Key)
	} else {
		o.view[e.Key] = e.New
	}
	o.events = append(o.events, e)
	each := o.each
	o.mu.Unlock()
	if each != nil {
		each(e)
	}
}

func (o *observer) check(e Event[*pod]) error {
	o.mu.Lock()
	known, ok := o.view[e.Key]
	o.mu.Unlock()
	switch {
	case e.Key.Name == "" || e.Origin == 0:
		return fmt.Errorf("the event is incomplete")
	case e.Type == Added && ok:
		return fmt.Errorf("promise 3: added, but it is known as %s", known.ResourceVersion)
	case e.Type != Added && !ok:
		return fmt.Errorf("promise 4: the handler has not seen the object")
	case e.Type != Added && !object.SameVersion(e.Old, known):
		return fmt.Errorf("promise 3: Old is %s, but New of the event before was %s", e.Old.ResourceVersion, known.ResourceVersion)
	case e.Type == Updated && e.Old.UID != e.New.UID:
		return fmt.Errorf("promise 5: an update from UID %s to %s", e.Old.UID, e.New.UID)
	case e.Type == Updated && e.Origin != Resync && object.SameVersion(e.Old, e.New):
		return fmt.Errorf("promise 6: an update that changes nothing")
	case e.Type == Deleted && (e.New == nil) != e.FinalStateUnknown:
		return fmt.Errorf("New must be set exactly if the final state is known")
	case e.Type == Deleted && e.Origin != PartRemoved && o.exists != nil && o.exists(e.Old.UID):
		return fmt.Errorf("deleted, but the server has it")
	case e.Type == Added && e.Old != nil:
		return fmt.Errorf("added with an old state")
	}
	return o.checkCache(e)
}

// checkCache checks that the cache is at the event or further.
func (o *observer) checkCache(e Event[*pod]) error {
	if o.cache == nil {
		return nil
	}
	cached, ok := o.cache.Snapshot().Get(e.Key)
	switch {
	case e.Type != Deleted && !ok:
		if !atLeast(o.cache.Snapshot().ResourceVersion(), e.New.ResourceVersion) {
			return fmt.Errorf("promise 1: the cache does not have it yet")
		}
	case e.Type != Deleted && !atLeast(cached.ResourceVersion, e.New.ResourceVersion):
		return fmt.Errorf("promise 1: the cache is at %s, the event at %s", cached.ResourceVersion, e.New.ResourceVersion)
	case e.Type == Deleted && ok && cached.UID == e.Old.UID:
		return fmt.Errorf("promise 1: the cache still has it")
	}
	return nil
}

// state is the observer's view: keys and resourceVersions.
func (o *observer) state() map[types.NamespacedName]string {
	o.mu.Lock()
	defer o.mu.Unlock()
	m := map[types.NamespacedName]string{}
	for k, p := range o.view {
		m[k] = p.ResourceVersion
	}
	return m
}

// take returns the events since the last call, described.
func (o *observer) take() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var all []string
	for _, e := range o.events {
		all = append(all, describe(e))
	}
	o.events = nil
	return all
}

func (o *observer) len() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.events)
}

// describe returns, for example, "Added a/x 1 InitialList".
func describe(e Event[*pod]) string {
	s := fmt.Sprintf("%v %s", e.Type, e.Key)
	if e.Type == Updated {
		s += " " + e.Old.Labels["n"] + "→"
	} else {
		s += " "
	}
	s += e.Object().Labels["n"] + " " + e.Origin.String()
	if e.FinalStateUnknown {
		s += " unseen"
	}
	return s
}

// requireSame fails unless cache, observers and cluster agree.
func requireSame(t testing.TB, c *cluster, cache snapshots, all ...*observer) {
	t.Helper()
	want := c.state()
	got := map[types.NamespacedName]string{}
	for p := range cache.Snapshot().All() {
		got[object.KeyOf(p)] = p.ResourceVersion
	}
	require.Equal(t, want, got, "cache")
	for i, o := range all {
		require.Equal(t, want, o.state(), "observer %d", i)
	}
}

func objKey(ns, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: ns, Name: name}
}

func goexit() { runtime.Goexit() }

// healthOf returns the health of the handler of that name.
func healthOf(inf *Informer[*pod], name string) HandlerHealth {
	for _, h := range inf.Health().Handlers {
		if h.Name == name {
			return h
		}
	}
	return HandlerHealth{}
}

func overflowsOf(inf *Informer[*pod], name string) uint64 { return healthOf(inf, name).Overflows }
