package solution

// Delta is a change of an object.
type Delta struct{ Type, Name string }

// Merge leaves out a Deleted that follows a Deleted of the same object. (Exercise 6.1)
func Merge(deltas []Delta) []Delta {
	var merged []Delta
	last := map[string]string{} // the type, by name
	for _, d := range deltas {
		if d.Type != "Deleted" || last[d.Name] != "Deleted" {
			merged = append(merged, d)
		}
		last[d.Name] = d.Type
	}
	return merged
}

// ByObject returns the deltas of each object together, in their order; the objects in the
// order of their first. (Exercise 6.2)
func ByObject(deltas []Delta) [][]Delta {
	var all [][]Delta
	place := map[string]int{}
	for _, d := range deltas {
		n, ok := place[d.Name]
		if !ok {
			n = len(all)
			place[d.Name] = n
			all = append(all, nil)
		}
		all[n] = append(all[n], d)
	}
	return all
}
