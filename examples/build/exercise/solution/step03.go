package solution

import "time"

// NextVersion returns the version to resume from after an event. objectVersion is that of its
// object, and empty for an ERROR. (Exercise 3.1)
func NextVersion(version, eventType, objectVersion string) string {
	switch eventType {
	case "ADDED", "MODIFIED", "DELETED", "BOOKMARK":
		return objectVersion
	}
	return version // an ERROR has no version, and what is unknown says nothing
}

// WatchTimeout returns for how long to ask the server to keep a watch. random returns a number
// from 0 to 1. (Exercise 3.2)
func WatchTimeout(random func() float64) time.Duration {
	return 5*time.Minute + time.Duration(random()*float64(5*time.Minute))
}
