package rows

import (
	"slices"

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
	}
	return rows
}
