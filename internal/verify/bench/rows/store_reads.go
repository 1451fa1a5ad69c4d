package rows

import (
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/informerkit/informerkit/internal/verify/bench"
)

// big is the number of objects where caches of the processor are to be cold.
const big = 100_000

// million is the number of objects where not even the last cache has room for the keys.
const million = 1_000_000

func readRows() []bench.Row {
	get := bench.Row{
		Work: "get by namespace and name, 2 readers", Quick: true,
		Does: "2 goroutines look up 100k pods in random order, by keys that are not the strings of the pods; client-go through its lister.",
		Want: bench.Target{Ratio: 1, Allocs: bench.AtMost(0)},
	}
	few := listAll(10_000, 5, true)
	few.Want.Usual = 9
	huge := get
	huge.Work, huge.Quick = "get by namespace and name of a million, 1 reader", false
	huge.Does = "One goroutine looks up a million pods in random order, by keys that are not the strings of the pods; client-go through its lister."
	rows := []bench.Row{
		compareStores(get, clientGoStore, someIndexes(1), gets(big, 2)),
		compareStores(afford(huge, million), clientGoStore, someIndexes(1), gets(million, 1)),
		bareMapRow(),
		bareSliceRow(),
		compareStores(few, clientGoStore, someIndexes(1), lists(10_000)),
		compareStores(listAll(big, 5, false), clientGoStore, someIndexes(1), lists(big)),
	}
	namespace := bench.Row{
		Work: "list a namespace, 1k of 100k",
		Does: "One goroutine lists one namespace after the other, of 100 with 1,000 pods each; a unit is a visited pod.",
		Per:  1000,
		Want: bench.Target{Ratio: 5, Allocs: bench.AtMost(0)},
	}
	node := bench.Row{
		Work: "list by index, 100 of 100k",
		Does: "One goroutine lists one node after the other by an index of the user's, 100 pods each; a unit is a visited pod.",
		Per:  podsPerNode,
		Want: bench.Target{Ratio: 5},
	}
	rows = append(rows,
		compareStores(namespace, clientGoStore, someIndexes(2), listNamespaces),
		compareStores(node, clientGoStore, someIndexes(2), listNodes))

	g, l, ns, x := get, listAll(big, 1, false), namespace, node
	for _, r := range []*bench.Row{&g, &l, &ns, &x} {
		r.Work += ", " + memDB
		r.Quick, r.Want = false, bench.Target{Ratio: 1}
	}
	return append(rows,
		compareStores(g, memDBStore, someIndexes(1), gets(big, 2)),
		compareStores(l, memDBStore, someIndexes(1), lists(big)),
		compareStores(ns, memDBStore, someIndexes(2), listNamespaces),
		compareStores(x, memDBStore, someIndexes(2), listNodes))
}

func listAll(n int, ratio float64, quick bool) bench.Row {
	return bench.Row{
		Work: fmt.Sprintf("list all of %dk", n/1000), Quick: quick,
		Does: "One goroutine lists all pods; a unit is a visited pod.",
		Per:  n,
		Want: bench.Target{Ratio: ratio, Allocs: bench.AtMost(0)},
	}
}

// gets looks up pods in so many goroutines.
func gets(objects, readers int) func(store) bench.Subject {
	return filled(objects, 20, func(s store, ps []*corev1.Pod) bench.Subject {
		ks := keysOf(ps)
		return bench.Subject{Run: func(n int) {
			parallel(readers, n, func(i int) {
				if s.Get(ks[i%len(ks)]) == nil {
					panic("a pod is missing")
				}
			})
		}}
	})
}

// parallel calls f for each number below n, in so many goroutines, each of which
// has a contiguous part.
func parallel(goroutines, n int, f func(i int)) {
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := n * g / goroutines; i < n*(g+1)/goroutines; i++ {
				f(i)
			}
		})
	}
	wg.Wait()
}

func lists(n int) func(store) bench.Subject {
	return filled(n, 20, func(s store, _ []*corev1.Pod) bench.Subject {
		return times(func() { expect(s.All(), n) })
	})
}

func listNamespaces(s store) bench.Subject {
	return filled(big, 100, func(s store, _ []*corev1.Pod) bench.Subject {
		next := 0
		return times(func() {
			expect(s.InNamespace(namespace(next%100)), big/100)
			next++
		})
	})(s)
}

func listNodes(s store) bench.Subject {
	return filled(big, 20, func(s store, _ []*corev1.Pod) bench.Subject {
		nodes := make([]string, big/podsPerNode)
		for i, j := range shuffled(len(nodes)) {
			nodes[i] = nodeName(j)
		}
		next := 0
		return times(func() {
			expect(s.OnNode(nodes[next%len(nodes)]), podsPerNode)
			next++
		})
	})(s)
}

// bareMapRow is the most that a look-up could be.
func bareMapRow() bench.Row {
	row := compareStores(bench.Row{
		Work: "get against a bare map, 1 reader",
		Does: "One goroutine looks up 100k pods in random order; the other side is a Go map from keys to pods, without any lock.",
		Want: bench.Target{Ratio: 0.6, Allocs: bench.AtMost(0)},
	}, implementation{who: "Go map"}, nil, gets(big, 1))
	row.Theirs.Setup = func() bench.Subject {
		ps := pods(big, 20)
		m := make(map[key]*corev1.Pod, len(ps))
		for _, p := range ps {
			m[key{Namespace: p.Namespace, Name: p.Name}] = p
		}
		ks := keysOf(ps)
		return bench.Subject{Run: func(n int) {
			parallel(1, n, func(i int) {
				if m[ks[i%len(ks)]] == nil {
					panic("a pod is missing")
				}
			})
		}}
	}
	return row
}

// bareSliceRow is the most that a list could be: memory that is read in its order.
func bareSliceRow() bench.Row {
	row := compareStores(bench.Row{
		Work: "list all of 100k against a bare slice",
		Does: "One goroutine lists all pods; the other side walks over a slice of them. A unit is a visited pod.",
		Per:  big,
		Want: bench.Target{Allocs: bench.AtMost(0)},
	}, implementation{who: "Go slice"}, nil, lists(big))
	row.Theirs.Setup = func() bench.Subject {
		ps := pods(big, 20)
		return times(func() { expect(visited(ps), big) })
	}
	return row
}
