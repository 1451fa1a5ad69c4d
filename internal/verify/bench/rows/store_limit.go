package rows

import (
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"

	"github.com/informerkit/informerkit/internal/verify/bench"
)

// storeLimitRows compare our store with the least that a store with snapshots can be, to
// show how far from it we are. What lies between is what the least does not do: it has no
// index but for a look at it, no resourceVersion, checks no object, cannot delete or list, holds at most
// 262,144 pods, cannot move one within an index, and its Get must not be called beside a write.
func storeLimitRows() []bench.Row {
	least := implementation{"map and copied path", newBareStore}
	return []bench.Row{
		compareStores(bench.Row{
			Work: "limit: single writes",
			Does: "One goroutine updates pods of 100k in random order, each visible at once, without an index; the other side is the least that has snapshots: " +
				"a Go map leads from the key to a number, and the nodes on the path to that number are copied.",
			Want: bench.Target{Ratio: 0.5},
		}, least, nil, singles(big)),
		compareStores(bench.Row{
			Work: "limit: single writes, one index",
			Does: "The same with one index, of the node. The least only compares the nodes of the old and the new pod, which are the same.",
			Want: bench.Target{Ratio: 0.5},
		}, least, []indexName{byNode}, singles(big)),
		compareStores(bench.Row{
			Work: "limit: get by namespace and name, 1 reader",
			Does: "One goroutine looks up 100k pods in random order; the other side is the same: a Go map leads to a number, and a path from there to the pod.",
			Want: bench.Target{Ratio: 0.8, Allocs: bench.AtMost(0)},
		}, least, nil, gets(big, 1)),
	}
}

// bareStore is the least that a store with snapshots can be. Each version is a tree of six
// levels, of nodes of eight, that shares what has not changed with the version before.
type bareStore struct {
	store // nil: what the rows above do not call

	indexed bool // by node

	mu      sync.Mutex
	numbers map[key]uint32
	root    atomic.Pointer[bareRoot]
}

type (
	bareRoot        = bareNode[bareNode[bareNode[bareNode[bareNode[bareNode[corev1.Pod]]]]]]
	bareNode[V any] struct{ kids [8]*V }
)

// with returns a copy of the node, or a new one, in which kid i is v.
func (n *bareNode[V]) with(i uint32, v *V) *bareNode[V] {
	c := &bareNode[V]{}
	if n != nil {
		*c = *n
	}
	c.kids[i&7] = v
	return c
}

// kid returns the child of a node that may be missing.
func (n *bareNode[V]) kid(i uint32) *V {
	if n == nil {
		return nil
	}
	return n.kids[i&7]
}

func newBareStore(indexes []indexName) store {
	return &bareStore{indexed: len(indexes) > 0, numbers: map[key]uint32{}}
}

func (s *bareStore) Write(p *corev1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := key{Namespace: p.Namespace, Name: p.Name}
	n, known := s.numbers[k]
	if !known {
		n = uint32(len(s.numbers))
		s.numbers[k] = n
	}
	a := s.root.Load()
	b := a.kid(n >> 15)
	c := b.kid(n >> 12)
	d := c.kid(n >> 9)
	e := d.kid(n >> 6)
	f := e.kid(n >> 3)
	if old := f.kid(n); s.indexed && old != nil && old.Spec.NodeName != p.Spec.NodeName {
		panic("the least store cannot move a pod within its index")
	}
	s.root.Store(a.with(n>>15, b.with(n>>12, c.with(n>>9, d.with(n>>6, e.with(n>>3, f.with(n, p)))))))
}

func (s *bareStore) WriteAll(ps []*corev1.Pod) {
	for _, p := range ps {
		s.Write(p)
	}
}

func (s *bareStore) Get(k key) *corev1.Pod {
	n, known := s.numbers[k]
	if !known {
		return nil
	}
	return s.root.Load().kid(n >> 15).kid(n >> 12).kid(n >> 9).kid(n >> 6).kid(n >> 3).kid(n)
}
