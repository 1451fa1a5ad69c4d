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
		Want: bench.Target{Allocs: bench.AtMost(0)},
	}
	huge := get
	huge.Work, huge.Quick = "get by namespace and name of a million, 1 reader", false
	huge.Does = "One goroutine looks up a million pods in random order, by keys that are not the strings of the pods; client-go through its lister."
	return []bench.Row{
		compareStores(get, clientGoStore, someIndexes(1), gets(big, 2)),
		compareStores(afford(huge, million), clientGoStore, someIndexes(1), gets(million, 1)),
		compareStores(listAll(big, 1, false), clientGoStore, someIndexes(1), lists(big)),
		compareStores(bench.Row{
			Work: "list a namespace, 1k of 100k",
			Does: "One goroutine lists one namespace after the other, of 100 with 1,000 pods each; a unit is a visited pod.",
			Per:  1000,
			Want: bench.Target{Ratio: 1.8, Allocs: bench.AtMost(0)},
		}, clientGoStore, someIndexes(2), listNamespaces),
		compareStores(bench.Row{
			Work: "list by index, 100 of 100k",
			Does: "One goroutine lists one node after the other by an index of the user's, 100 pods each; a unit is a visited pod.",
			Per:  podsPerNode,
			Want: bench.Target{Ratio: 1.8},
		}, clientGoStore, someIndexes(2), listNodes),
	}
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
