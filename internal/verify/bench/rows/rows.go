// Package rows is the list of what is compared: one file per area, one function
// per kind of work. Package bench documents how it is measured and what is fair.
package rows

import (
	"slices"

	"github.com/informerkit/informerkit/internal/verify/bench"
)

// The names of the sides, as the table shows them.
const (
	informerkit       = "informerkit"
	clientGo          = "client-go"
	controllerRuntime = "controller-runtime"
)

// All returns every row, in the order of the table.
func All() []bench.Row {
	return slices.Concat(controllerRows(), queueRows(), storeRows(), fifoRows(), informerRows(), syncRows(), internRows())
}

// must ends the process: a benchmark that cannot be set up measures nothing.
func must[T any](v T, err error) T {
	check(err)
	return v
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
