package rows

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/informerkit/informerkit/internal/verify/bench"
)

func writeRows() []bench.Row {
	batched := bench.Row{
		Work: "writes in batches of 100", Quick: true,
		Does: "One goroutine updates pods of 100k in random order, 100 in a batch, with indexes of namespace and node; a unit is a write.",
		Per:  100, Rate: true,
		Want: bench.Target{Ratio: 1},
	}
	single := bench.Row{
		Work: "single writes",
		Does: "One goroutine updates pods of 100k in random order, each visible at once, with one index, of the node.",
		Want: bench.Target{Ratio: 0.5},

		MoreRounds: 3, // as it waits for memory that others on the host use, too
	}
	return []bench.Row{
		compareStores(batched, clientGoStore, someIndexes(2), batches(big, 100)),
		compareStores(single, clientGoStore, []indexName{byNode}, singles(big)),
		addRow(0), addRow(2), replaceRow(),
	}
}

func batches(objects, size int) func(store) bench.Subject {
	return filled(objects, 20, func(s store, ps []*corev1.Pod) bench.Subject {
		u := updatesOf(ps)
		batch := make([]*corev1.Pod, size)
		return times(func() {
			for i := range batch {
				batch[i] = u.take()
			}
			s.WriteAll(batch)
		})
	})
}

func singles(objects int) func(store) bench.Subject {
	return filled(objects, 20, func(s store, ps []*corev1.Pod) bench.Subject {
		u := updatesOf(ps)
		return times(func() { s.Write(u.take()) })
	})
}

// addRow fills a new store, as a first sync does.
func addRow(indexes int) bench.Row {
	const n = 20_000
	row := bench.Row{
		Area: "store", Work: fmt.Sprintf("add 20k in batches of 100, %d indexes", indexes),
		Does: "20,000 pods are added to a new store; a unit is a pod. The indexes are namespace, node, a label, owner, another label.",
		Per:  n, Rate: true,
		Want: bench.Target{Ratio: 1},

		MoreRounds: 3,
	}
	side := func(i implementation) bench.Side {
		return bench.Side{Who: i.who, Setup: func() bench.Subject {
			ps := pods(n, 20)
			return times(func() {
				s := i.new(someIndexes(indexes))
				for batch := range slices.Chunk(ps, 100) {
					s.WriteAll(batch)
				}
			})
		}}
	}
	row.Ours, row.Theirs = side(ourStore), side(clientGoStore)
	return row
}

// replaceRow is a relist: nearly everything is as it was, in other pointers.
func replaceRow() bench.Row {
	return compareStores(bench.Row{
		Work: "replace 100k, 1% changed",
		Does: "The whole content is stated again; every pod is another copy, and one in a hundred has another resourceVersion. A unit is a pod.",
		Per:  big,
		Want: bench.Target{Ratio: 1},
	}, clientGoStore, someIndexes(2), filled(big, 20, func(s store, ps []*corev1.Pod) bench.Subject {
		lists := [2][]*corev1.Pod{ps, make([]*corev1.Pod, len(ps))}
		for i, p := range ps {
			c := *p
			lists[1][i] = &c
			if i%100 == 0 {
				lists[1][i] = newer(p, i)
			}
		}
		next := 1
		return times(func() {
			s.Replace(lists[next])
			next = 1 - next
		})
	}))
}
