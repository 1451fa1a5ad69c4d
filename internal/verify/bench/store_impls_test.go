package bench

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/informerkit/informerkit/indexer"
)

// nodeIndex is an index with a function of the user's, of the kind that is meant for one value
// for each object. client-go has no such kind: its function returns a slice.
var nodeIndex = indexer.NewSingleIndex("node", func(p *corev1.Pod) (string, bool) {
	return p.Spec.NodeName, p.Spec.NodeName != ""
})

// oursAsStore is our indexer.
type oursAsStore struct{ *indexer.Indexer[*corev1.Pod] }

func newOurStore(node bool) store {
	var o indexer.Options[*corev1.Pod]
	if node {
		o.Indexes = append(o.Indexes, nodeIndex)
	}
	return oursAsStore{must(indexer.New(o))}
}

func (s oursAsStore) Write(p *corev1.Pod) {
	b := s.Batch()
	_, _, err := b.Set(p)
	check(err)
	b.Commit()
}

func (s oursAsStore) WriteAll(ps []*corev1.Pod) {
	b := s.Batch()
	for _, p := range ps {
		_, _, err := b.Set(p)
		check(err)
	}
	b.Commit()
}

func (s oursAsStore) Get(k key) *corev1.Pod {
	p, _ := s.Indexer.Get(k)
	return p
}

func (s oursAsStore) All() (n int) {
	for p := range s.Snapshot().All() {
		if p != nil {
			n++
		}
	}
	return n
}

func (s oursAsStore) InNamespace(namespace string) (n int) {
	for p := range s.Snapshot().ByNamespace(namespace) {
		if p != nil {
			n++
		}
	}
	return n
}

func (s oursAsStore) OnNode(node string) (n int) {
	for p := range indexer.ByIndex(s.Snapshot(), nodeIndex, node) {
		if p != nil {
			n++
		}
	}
	return n
}

// Changed compares two snapshots.
func (s oursAsStore) Changed() (count func() int) {
	before := s.Snapshot()
	return func() (n int) {
		for c := range indexer.Diff(before, s.Snapshot()) {
			if c.Old != c.New {
				n++
			}
		}
		return n
	}
}

// clientGoAsStore is client-go's indexer behind the lister that its users use.
type clientGoAsStore struct {
	cache.Indexer
	lister corev1listers.PodLister
}

func newClientGoStore(node bool) store {
	indexers := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	if node {
		indexers["node"] = func(obj any) ([]string, error) { return []string{obj.(*corev1.Pod).Spec.NodeName}, nil }
	}
	ix := cache.NewIndexer(cache.MetaNamespaceKeyFunc, indexers)
	return clientGoAsStore{ix, corev1listers.NewPodLister(ix)}
}

func (s clientGoAsStore) Write(p *corev1.Pod) { check(s.Update(p)) }

func (s clientGoAsStore) WriteAll(ps []*corev1.Pod) {
	for _, p := range ps {
		check(s.Update(p))
	}
}

func (s clientGoAsStore) Get(k key) *corev1.Pod {
	p, err := s.lister.Pods(k.Namespace).Get(k.Name)
	check(err)
	return p
}

func (s clientGoAsStore) All() (n int) {
	return visited(must(s.lister.List(labels.Everything())))
}

func (s clientGoAsStore) InNamespace(namespace string) (n int) {
	return visited(must(s.lister.Pods(namespace).List(labels.Everything())))
}

func (s clientGoAsStore) OnNode(node string) (n int) {
	for _, obj := range must(s.ByIndex("node", node)) {
		if p, ok := obj.(*corev1.Pod); ok && p != nil {
			n++
		}
	}
	return n
}

// Changed looks each object up in a map of those before.
func (s clientGoAsStore) Changed() (count func() int) {
	before := map[string]any{}
	for _, obj := range s.List() {
		before[must(cache.MetaNamespaceKeyFunc(obj))] = obj
	}
	return func() (n int) {
		for _, obj := range s.List() {
			if before[must(cache.MetaNamespaceKeyFunc(obj))] != obj {
				n++
			}
		}
		return n
	}
}

func visited(ps []*corev1.Pod) (n int) {
	for _, p := range ps {
		if p != nil {
			n++
		}
	}
	return n
}
