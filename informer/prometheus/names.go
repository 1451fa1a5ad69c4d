package prometheus

import (
	"fmt"
	"sync"
)

// names is what has series at present, by name.
type names[R any] struct {
	mu sync.Mutex
	by map[string]R
}

// add takes a name, unless it is taken already. begin is called with the mutex
// held, so that it cannot be mixed up with the end of a predecessor.
func (n *names[R]) add(kind, name string, begin func() R) (R, error) {
	var none R
	if name == "" {
		return none, fmt.Errorf("prometheus: the %s has no name; its series need one", kind)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, taken := n.by[name]; taken {
		return none, fmt.Errorf("prometheus: there is a %s named %q already; close that one first, or choose another name", kind, name)
	}
	return n.put(name, begin), nil
}

// addNumbered takes a name, with a number if it is taken already.
func (n *names[R]) addNumbered(name string, begin func(name string) R) R {
	n.mu.Lock()
	defer n.mu.Unlock()
	free := name
	for i := 2; ; i++ {
		if _, taken := n.by[free]; !taken {
			return n.put(free, func() R { return begin(free) })
		}
		free = fmt.Sprintf("%s-%d", name, i)
	}
}

// put begins the series of a name that is free. The mutex must be held.
func (n *names[R]) put(name string, begin func() R) R {
	if n.by == nil {
		n.by = map[string]R{}
	}
	r := begin()
	n.by[name] = r
	return r
}

// remove frees a name. end is called with the mutex held.
func (n *names[R]) remove(name string, end func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.by, name)
	end()
}

// all returns what there is now.
func (n *names[R]) all() []R {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := make([]R, 0, len(n.by))
	for _, r := range n.by {
		all = append(all, r)
	}
	return all
}
