package rows

import (
	"fmt"

	"github.com/informerkit/informerkit/internal/verify/bench"
)

func memoryRows() []bench.Row {
	none, two := memoryRow(big, 0, clientGoStore), memoryRow(big, 2, clientGoStore)
	none.Want, two.Want, two.Quick = bench.Target{Ratio: 1}, bench.Target{Ratio: 1}, true
	return []bench.Row{none, two}
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
