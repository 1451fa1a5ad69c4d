package informertest

import (
	"slices"
	"sync"
)

// Fault makes requests go wrong. The zero values of its fields mean: the next
// request to any resource.
type Fault struct {
	// Verb and Resource (the plural name) select the requests; empty means any.
	Verb, Resource string
	// Match, if set, must return true as well. It must not call the server.
	Match func(Request) bool
	// Skip is how many selected requests pass before the first that goes wrong.
	Skip int
	// Times is how many selected requests go wrong; 0 means one, negative all
	// until the fault is removed.
	Times int
	// Effect is what happens to them.
	Effect Effect
}

// Effect is what happens to a request. Effects are values; the same one may be
// used for any number of faults.
type Effect struct {
	// request acts before the request is carried out, and may answer it.
	request func(*call) (answered bool, err error)
	// stream makes what tampers with the events of one watch.
	stream func() *tamper
}

// fault is an injected fault with its counts, guarded by faults.mu.
type fault struct {
	Fault
	// pick, if set, chooses requests and effects in place of the Fault.
	pick func(Request) (Effect, bool)
}

// faults are the faults of a server.
type faults struct {
	mu   sync.Mutex
	list []*fault
}

// Inject adds a fault. Faults are tried in the order of their injection, and the
// first one that selects a request applies to it. remove removes the fault; it does
// not release a request to which the fault applies already, such as a stalled one.
func (s *Server) Inject(f Fault) (remove func()) {
	setDefault(&f.Times, 1)
	return s.faults.add(&fault{Fault: f})
}

// ClearFaults removes all faults.
func (s *Server) ClearFaults() {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.list = nil
}

// add puts a fault behind the others and returns what takes it out again.
func (f *faults) add(x *fault) (remove func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, x)
	return func() { f.remove(x) }
}

// remove takes a fault out.
func (f *faults) remove(gone *fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = slices.DeleteFunc(slices.Clone(f.list), func(x *fault) bool { return x == gone })
}

// choose finds the effect for a request, and counts it.
func (f *faults) choose(r Request) (Effect, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, x := range f.list {
		if effect, ok := x.choose(r); ok {
			if x.Times == 0 && x.pick == nil {
				f.list = slices.DeleteFunc(slices.Clone(f.list), func(y *fault) bool { return x == y })
			}
			return effect, true
		}
	}
	return Effect{}, false
}

// choose decides whether the fault hits a request, and counts it.
func (x *fault) choose(r Request) (Effect, bool) {
	switch {
	case x.pick != nil:
		return x.pick(r)
	case x.Verb != "" && x.Verb != r.Verb, x.Resource != "" && x.Resource != r.Resource, x.Match != nil && !x.Match(r):
		return Effect{}, false
	case x.Skip > 0:
		x.Skip--
		return Effect{}, false
	case x.Times > 0:
		x.Times--
	}
	return x.Effect, true
}

// meet lets a request meet with its fault, if there is one for it.
func (cl *call) meet(r Request) (answered bool, err error) {
	effect, ok := cl.server.faults.choose(r)
	if !ok {
		return false, nil
	}
	if effect.stream != nil {
		cl.tamper = effect.stream()
	}
	if effect.request == nil {
		return false, nil
	}
	return effect.request(cl)
}
