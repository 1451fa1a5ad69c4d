package rows

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/informerkit/informerkit/internal/verify/bench"
)

// controllerArea is the table that targets are set by: what the operator of a
// controller feels. A structure of our own has to show in it.
const controllerArea = "what a controller does"

// controllerRows are the rows of that table. (Package reconcile of the end-to-end tests
// adds a controller at work on a real API server, and its restart.)
func controllerRows() []bench.Row {
	rows := slices.Concat(syncTimeRows(), []bench.Row{syncPeakRow()}, sharedHeapRows(), relistRows(), eventRows(),
		[]bench.Row{stalledHandlerRow(), lateHandlerRow()}, listsBesideWriterRows(),
		[]bench.Row{writesBesideReadersRow(), idleInformerRow(), idleHandlerRow(), manyWorkersRow()})
	for i := range rows {
		rows[i].Area = controllerArea
		if w, ok := strings.CutPrefix(rows[i].Work, "first sync of 50k pods, "); ok {
			rows[i].Limit = "sync: first sync of 50k pods against decoding, " + w
		}
	}
	return rows
}

// listsBesideWriterRows are the two lists that a reconcile asks for, while the informer
// writes what happens in the cluster.
func listsBesideWriterRows() []bench.Row {
	const objects, namespaces, writes = 50_000, 200, 1000
	row := func(work, does string, per int, list func(s store, i int)) bench.Row {
		return compareStores(bench.Row{
			Work: work, Per: per, Time: share,
			Does: "One goroutine lists " + does + " of 50,000 pods, one after the other, while another one writes a pod each millisecond; a unit is a visited pod.",
			Want: bench.Target{Ratio: 1.8},
		}, clientGoStore, someIndexes(2), filled(objects, namespaces, func(s store, ps []*corev1.Pod) bench.Subject {
			u := updatesOf(ps)
			writer := readers{1, pace * 10 / writes}
			var stop func()
			return bench.Subject{
				Before: func() { stop = writer.start(func() { s.Write(u.take()) }) },
				Run: func(n int) {
					for i := range n {
						list(s, i)
					}
				},
				After: func() { stop() },
			}
		}))
	}
	return []bench.Row{
		row("list by namespace, 250 pods, beside a writer", "a namespace of 250", objects/namespaces, func(s store, i int) {
			expect(s.InNamespace(namespace(i%namespaces)), objects/namespaces)
		}),
		row("list by index, 100 pods, beside a writer", "a node of 100", podsPerNode, func(s store, i int) {
			expect(s.OnNode(nodeName(i%(objects/podsPerNode))), podsPerNode)
		}),
	}
}
