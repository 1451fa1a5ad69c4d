package exercise

// Delta is a change of an object.
type Delta struct{ Type, Name string }

// Merge leaves out a Deleted that follows a Deleted of the same object. (Exercise 6.1)
func Merge(deltas []Delta) []Delta {
	var merged []Delta
	for n, d := range deltas {
		if n == 0 || d != deltas[n-1] {
			merged = append(merged, d)
		}
	}
	return merged
}

// ByObject returns the deltas of each object together, in their order; the objects in the
// order of their first. (Exercise 6.2)
func ByObject(deltas []Delta) [][]Delta {
	var all [][]Delta
	for _, d := range deltas {
		all = append(all, []Delta{d})
	}
	return all
}
