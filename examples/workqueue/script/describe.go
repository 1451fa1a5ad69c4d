package script

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/informerkit/informerkit/examples/workqueue/controller"
	"github.com/informerkit/informerkit/workqueue"
)

// describe puts what a queue holds into a line.
func describe(in workqueue.Inspection[key]) string {
	if len(in.Running)+len(in.Queued)+len(in.Delayed) == 0 {
		if in.ShuttingDown {
			return "shut down and empty"
		}
		return "empty"
	}
	delayed := slices.SortedFunc(slices.Values(in.Delayed), func(a, b workqueue.Item[key]) int {
		return cmp.Compare(a.Item.Name, b.Item.Name)
	})
	parts := []string{"running: " + names(in.Running), "queued: " + names(in.Queued), "delayed: " + names(delayed)}
	return strings.Join(parts, "; ")
}

// names lists items; those that are there since the start are in brackets.
func names(items []workqueue.Item[key]) string {
	if len(items) == 0 {
		return "none"
	}
	var out []string
	for _, i := range items {
		if i.PriorityClass == controller.Known && i.DelayedUntil.IsZero() {
			out = append(out, fmt.Sprintf("[%s]", i.Item.Name))
		} else {
			out = append(out, i.Item.Name)
		}
	}
	return strings.Join(out, ", ")
}
