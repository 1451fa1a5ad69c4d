package rows

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

var ourIndexes = map[indexName]indexer.IndexDefinition[*corev1.Pod]{
	byNode:  nodeIndex,
	byApp:   indexer.LabelIndex[*corev1.Pod]("app"),
	byOwner: indexer.OwnerUIDIndex[*corev1.Pod](),
	byTier:  indexer.LabelIndex[*corev1.Pod]("tier"),

	byUID:              functionIndex(byUID),
	byReplicaSet:       functionIndex(byReplicaSet),
	byNamespaceAndTier: functionIndex(byNamespaceAndTier),
}

// functionIndex is an index with the function that the others have.
func functionIndex(name indexName) indexer.IndexDefinition[*corev1.Pod] {
	values := stringsOf[name]
	return indexer.NewIndex(nameOf[name], func(p *corev1.Pod) ([]string, error) { return values(p), nil })
}

// oursAsStore is our indexer.
type oursAsStore struct{ *indexer.Indexer[*corev1.Pod] }

func newOurStore(indexes []indexName) store {
	var o indexer.Options[*corev1.Pod]
	for _, name := range indexes {
		if name != byNamespace { // the store is arranged by it
			o.Indexes = append(o.Indexes, ourIndexes[name])
		}
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

func (s oursAsStore) Replace(ps []*corev1.Pod) {
	b := s.Batch()
	_, err := b.Replace(ps)
	check(err)
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

// clientGoAsStore is client-go's indexer behind the lister that its users use.
type clientGoAsStore struct {
	cache.Indexer
	lister corev1listers.PodLister
}

// stringsOf are the index functions for the rows with string values.
var stringsOf = map[indexName]func(*corev1.Pod) []string{
	byNamespace: func(p *corev1.Pod) []string { return []string{p.Namespace} },
	byNode:      func(p *corev1.Pod) []string { return []string{p.Spec.NodeName} },
	byApp:       func(p *corev1.Pod) []string { return []string{p.Labels["app"]} },
	byOwner: func(p *corev1.Pod) []string {
		owners := make([]string, len(p.OwnerReferences))
		for i := range p.OwnerReferences {
			owners[i] = string(p.OwnerReferences[i].UID)
		}
		return owners
	},
	byTier: func(p *corev1.Pod) []string { return []string{p.Labels["tier"]} },

	byUID:              func(p *corev1.Pod) []string { return []string{string(p.UID)} },
	byReplicaSet:       func(p *corev1.Pod) []string { return []string{p.OwnerReferences[0].Name} },
	byNamespaceAndTier: func(p *corev1.Pod) []string { return []string{p.Namespace + "/" + p.Labels["tier"]} },
}

var nameOf = map[indexName]string{
	byNamespace: cache.NamespaceIndex, byNode: "node", byApp: "app", byOwner: "owner", byTier: "tier",
	byUID: "uid", byReplicaSet: "replicaset", byNamespaceAndTier: "namespace-tier",
}

func newClientGoStore(indexes []indexName) store {
	indexers := cache.Indexers{}
	for _, name := range indexes {
		values := stringsOf[name]
		indexers[nameOf[name]] = func(obj any) ([]string, error) { return values(obj.(*corev1.Pod)), nil }
		if name == byNamespace {
			indexers[nameOf[name]] = cache.MetaNamespaceIndexFunc
		}
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

func (s clientGoAsStore) Replace(ps []*corev1.Pod) {
	check(s.Indexer.Replace(anys(ps), ""))
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

func visited(ps []*corev1.Pod) (n int) {
	for _, p := range ps {
		if p != nil {
			n++
		}
	}
	return n
}
