package solution

import "time"

// NextInterval returns how long to wait until the next poll. (Exercise 1.1)
func NextInterval(last time.Duration, changed bool) time.Duration {
	if changed {
		return time.Second
	}
	return min(2*last, time.Minute)
}

// Object is what a list has of an object.
type Object struct{ Name, UID, Version string }

// Changes returns what is different between two lists, as "Added a", "Updated a" or "Deleted
// a". (Exercise 1.2)
func Changes(before, after []Object) []string {
	old := map[string]Object{}
	for _, obj := range before {
		old[obj.Name] = obj
	}
	var changes []string
	for _, obj := range after {
		was, ok := old[obj.Name]
		switch {
		case !ok:
			changes = append(changes, "Added "+obj.Name)
		case was.UID != obj.UID: // another one has taken the name
			changes = append(changes, "Deleted "+obj.Name, "Added "+obj.Name)
		case was.Version != obj.Version:
			changes = append(changes, "Updated "+obj.Name)
		}
		delete(old, obj.Name)
	}
	for name := range old {
		changes = append(changes, "Deleted "+name)
	}
	return changes
}
