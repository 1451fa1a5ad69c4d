package indexer_test

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/indexer"
)

func pod(namespace, name, node, app string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": app}},
		Spec:       corev1.PodSpec{NodeName: node},
	}
}

// podNames sorts: iterations come in no particular order.
func podNames(seq func(func(*corev1.Pod) bool)) (names []string) {
	for p := range seq {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return names
}

func ExampleIndexer() {
	byNode := indexer.NewIndex("node", func(p *corev1.Pod) ([]string, error) {
		return []string{p.Spec.NodeName}, nil
	})
	ix, err := indexer.New(indexer.Options[*corev1.Pod]{
		Indexes: []indexer.IndexDefinition[*corev1.Pod]{byNode},
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	b := ix.Batch()
	defer b.Discard()
	for _, p := range []*corev1.Pod{
		pod("default", "web-1", "node-a", "web"),
		pod("default", "web-2", "node-b", "web"),
		pod("kube-system", "proxy", "node-a", "proxy"),
	} {
		if _, _, err := b.Set(p); err != nil {
			fmt.Println(err)
		}
	}
	b.SetResourceVersion("42")
	b.Commit()

	p, ok := ix.Get(types.NamespacedName{Namespace: "default", Name: "web-2"})
	fmt.Println("get:", p.Spec.NodeName, ok)

	// Several questions to one state: ask one snapshot.
	snap := ix.Snapshot()
	fmt.Println("on node-a:", podNames(indexer.ByIndex(snap, byNode, "node-a")))
	fmt.Println("in default:", podNames(snap.ByNamespace("default")))
	fmt.Println("resourceVersion:", snap.ResourceVersion())
	// Output:
	// get: node-b true
	// on node-a: [proxy web-1]
	// in default: [web-1 web-2]
	// resourceVersion: 42
}

func ExampleSnapshot_Select() {
	ix, err := indexer.New(indexer.Options[*corev1.Pod]{
		Indexes: []indexer.IndexDefinition[*corev1.Pod]{indexer.LabelIndex[*corev1.Pod]("app")},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	b := ix.Batch()
	defer b.Discard()
	if _, err := b.Replace([]*corev1.Pod{
		pod("a", "web-1", "", "web"), pod("b", "web-2", "", "web"), pod("a", "db", "", "db"),
	}); err != nil {
		fmt.Println(err)
	}
	snap := b.Commit()

	selector := labels.SelectorFromSet(labels.Set{"app": "web"}) // answered by the index
	fmt.Println(podNames(snap.Select(selector)))
	fmt.Println(podNames(snap.SelectInNamespace("a", selector)))
	// Output:
	// [web-1 web-2]
	// [web-1]
}

func ExampleDiff() {
	ix, err := indexer.New(indexer.Options[*corev1.Pod]{})
	if err != nil {
		fmt.Println(err)
		return
	}
	write := func(objs ...*corev1.Pod) *indexer.Snapshot[*corev1.Pod] {
		b := ix.Batch()
		defer b.Discard()
		if _, err := b.Replace(objs); err != nil {
			fmt.Println(err)
		}
		return b.Commit()
	}
	before := write(pod("a", "stays", "", ""), pod("a", "goes", "", ""))
	stays, _ := before.Get(types.NamespacedName{Namespace: "a", Name: "stays"})
	after := write(stays, pod("a", "comes", "", ""))

	var lines []string
	for c := range indexer.Diff(before, after) {
		lines = append(lines, fmt.Sprint(c.Type, " ", c.Key))
	}
	slices.Sort(lines)
	for _, l := range lines {
		fmt.Println(l)
	}
	// Output:
	// Added a/comes
	// Deleted a/goes
}
