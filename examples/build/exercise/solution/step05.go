package solution

import (
	"maps"
	"slices"
)

// Values returns the values under which an object is found by its labels: "name=value" for
// each, in the order of their names. (Exercise 5.1)
func Values(labels map[string]string) []string {
	var values []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		values = append(values, name+"="+labels[name])
	}
	return values
}

// Diff returns the names that were added, updated and deleted between two snapshots, which have
// the version of each name. Each of the three is sorted. (Exercise 5.2)
func Diff(before, after map[string]string) (added, updated, deleted []string) {
	for _, name := range slices.Sorted(maps.Keys(after)) {
		switch old, ok := before[name]; {
		case !ok:
			added = append(added, name)
		case old != after[name]:
			updated = append(updated, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, ok := after[name]; !ok {
			deleted = append(deleted, name)
		}
	}
	return added, updated, deleted
}
