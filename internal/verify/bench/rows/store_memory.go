package rows

import (
	"fmt"

	"github.com/informerkit/informerkit/internal/verify/bench"
)

func memoryRows() []bench.Row {
	rows := []bench.Row{}
	for _, c := range []struct {
		indexes int
		want    bench.Target
		quick   bool
	}{{0, bench.Target{Ratio: 1}, false}, {2, bench.Target{Ratio: 1, Figure: bench.AtMost(100)}, true}} {
		row := memoryRow(big, c.indexes, clientGoStore)
		row.Want, row.Quick = c.want, c.quick
		rows = append(rows, row)
	}
	row := memoryRow(big, 2, memDBStore)
	row.Work += ", " + memDB
	row.Want = bench.Target{Ratio: 1}
	return append(rows, row)
}

func memoryRow(objects, indexes int, peer implementation) bench.Row {
	row := bench.Row{
		Work:    fmt.Sprintf("memory per object, %d indexes", indexes),
		Does:    fmt.Sprintf("%s pods, which exist already, are written to a store in batches of 1,000; the heap that it takes for one.", short(objects)),
		Measure: bench.LiveHeap, Per: objects, Repeat: 1,
	}
	return compareStores(row, peer, someIndexes(indexes), func(s store) bench.Subject {
		ps := pods(objects, 20)
		return bench.Subject{
			Run: func(int) {
				for i := 0; i < len(ps); i += 1000 {
					s.WriteAll(ps[i : i+1000])
				}
			},
			After: func() { expect(s.All(), len(ps)) },
		}
	})
}
