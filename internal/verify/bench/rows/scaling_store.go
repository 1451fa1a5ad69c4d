package rows

import (
	"slices"

	"github.com/informerkit/informerkit/internal/verify/bench"
)

// objectSeries is what a store costs that has more and more objects.
func objectSeries() []bench.Row {
	ours := func(point bench.Point, row bench.Row, indexes int, work func(objects int) func(store) bench.Subject) []bench.Row {
		point.XLabel = "pods in the store"
		return series(point, []int{1000, 10_000, 100_000, 1_000_000}, func(n int) bench.Row {
			r := row
			if r.Per == eachObject {
				r.Per = n
			}
			return compareStores(afford(r, n), clientGoStore, someIndexes(indexes), work(n))
		})
	}
	return slices.Concat(
		ours(bench.Point{Series: "objects-get", Title: "Getting a pod by namespace and name", YLabel: "time per look-up"},
			bench.Row{Does: "One goroutine looks up pods in random order, by keys that are not the strings of the pods; client-go through its lister."},
			1, func(n int) func(store) bench.Subject { return gets(n, 1) }),
		ours(bench.Point{Series: "objects-list", Title: "Listing all pods", YLabel: "time per pod"},
			bench.Row{Does: "One goroutine lists all pods; a unit is a visited pod.", Per: eachObject}, 1, lists),
		ours(bench.Point{Series: "objects-write", Title: "Writing a pod that is visible at once", YLabel: "time per write"},
			bench.Row{Does: "One goroutine updates pods in random order, each visible at once, with indexes of namespace and node."}, 2, singles),
		ours(bench.Point{Series: "objects-batch", Title: "Writing pods in batches of 1,000", YLabel: "time per write"},
			bench.Row{Does: "One goroutine updates pods in random order, 1,000 in a batch, with indexes of namespace and node; a unit is a write.", Per: 1000},
			2, func(n int) func(store) bench.Subject { return batches(n, 1000) }),
		series(bench.Point{
			Series: "objects-memory", Title: "Memory of a store with two indexes, without the pods",
			XLabel: "pods in the store", YLabel: "heap per pod",
		}, []int{1000, 10_000, 100_000, 1_000_000}, func(n int) bench.Row { return memoryRow(n, 2, clientGoStore) }),
	)
}

// eachObject stands for as many units as there are objects.
const eachObject = -1

// afford limits the runs where setting up alone takes seconds.
func afford(row bench.Row, objects int) bench.Row {
	if objects >= million {
		row.Rounds = 3
	}
	return row
}

// indexSeries is what indexes cost, of which a controller needs a few: namespace,
// node, label, owner, another label, UID, owner's name, namespace and label.
func indexSeries() []bench.Row {
	counts := []int{0, 1, 2, 4, 8}
	const label = "indexes"
	return slices.Concat(
		series(bench.Point{Series: "indexes-add", Title: "Adding 20,000 pods in batches of 100", XLabel: label, YLabel: "time per pod"},
			counts, func(n int) bench.Row {
				row := addRow(n)
				row.Rate = false
				return row
			}),
		series(bench.Point{Series: "indexes-update", Title: "Updating pods of 100,000 in batches of 1,000", XLabel: label, YLabel: "time per write"},
			counts, func(n int) bench.Row {
				return compareStores(bench.Row{
					Does: "One goroutine updates pods in random order, 1,000 in a batch; no value of an index changes. A unit is a write.",
					Per:  1000,
				}, clientGoStore, someIndexes(n), batches(big, 1000))
			}),
		series(bench.Point{Series: "indexes-memory", Title: "Memory of a store of 100,000 pods, without the pods", XLabel: label, YLabel: "heap per pod"},
			counts, func(n int) bench.Row { return memoryRow(big, n, clientGoStore) }),
	)
}
