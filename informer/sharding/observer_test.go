package sharding

import (
	"fmt"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/internal/object"
)

// observer is a handler that checks the promises about what is delivered to one handler,
// and keeps the view of the world that follows from it.
type observer struct {
	t testing.TB
	// exists, if set, reports whether the server has the object of that UID.
	exists func(types.UID) bool

	running sync.Mutex // held during OnEvent

	mu     sync.Mutex
	view   map[types.NamespacedName]*pod
	events []informer.Event[*pod]
	each   func(informer.Event[*pod]) // called during OnEvent, if set
}

func observe(t testing.TB) *observer {
	return &observer{t: t, view: map[types.NamespacedName]*pod{}}
}

func (o *observer) OnEvent(e informer.Event[*pod]) {
	if !o.running.TryLock() {
		o.t.Errorf("promise 2: a call began during another one: %v", describe(e))
		return
	}
	defer o.running.Unlock()
	if err := o.check(e); err != nil {
		o.t.Errorf("%v: %v", describe(e), err)
	}
	o.mu.Lock()
	if e.Type == informer.Deleted {
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

func (o *observer) check(e informer.Event[*pod]) error {
	o.mu.Lock()
	known, ok := o.view[e.Key]
	o.mu.Unlock()
	switch {
	case e.Key.Name == "" || e.Origin == 0:
		return fmt.Errorf("the event is incomplete")
	case e.Type == informer.Added && ok:
		return fmt.Errorf("promise 3: added, but it is known as %s", known.ResourceVersion)
	case e.Type != informer.Added && !ok:
		return fmt.Errorf("promise 4: the handler has not seen the object")
	case e.Type != informer.Added && !object.SameVersion(e.Old, known):
		return fmt.Errorf("promise 3: Old is %s, but New of the event before was %s", e.Old.ResourceVersion, known.ResourceVersion)
	case e.Type == informer.Updated && e.Old.UID != e.New.UID:
		return fmt.Errorf("promise 5: an update from UID %s to %s", e.Old.UID, e.New.UID)
	case e.Type == informer.Updated && e.Origin != informer.Resync && object.SameVersion(e.Old, e.New):
		return fmt.Errorf("promise 6: an update that changes nothing")
	case e.Type == informer.Deleted && (e.New == nil) != e.FinalStateUnknown:
		return fmt.Errorf("New must be set exactly if the final state is known")
	case e.Type == informer.Deleted && e.Origin != informer.PartRemoved && o.exists != nil && o.exists(e.Old.UID):
		return fmt.Errorf("deleted, but the server has it")
	case e.Type == informer.Added && e.Old != nil:
		return fmt.Errorf("added with an old state")
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

// describe returns, for example, "Added a/x 1 InitialList".
func describe(e informer.Event[*pod]) string {
	s := fmt.Sprintf("%v %s", e.Type, e.Key)
	if e.Type == informer.Updated {
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

// healthOf returns the health of the handler of that name.
func healthOf(inf *Ranged[*pod], name string) informer.HandlerHealth {
	for _, h := range inf.Health().Handlers {
		if h.Name == name {
			return h
		}
	}
	return informer.HandlerHealth{}
}
