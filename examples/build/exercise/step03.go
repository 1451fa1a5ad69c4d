package exercise

import "time"

// NextVersion returns the version to resume from after an event. objectVersion is that of its
// object, and empty for an ERROR. (Exercise 3.1)
func NextVersion(version, eventType, objectVersion string) string {
	if eventType == "ADDED" || eventType == "MODIFIED" {
		return objectVersion
	}
	return version
}

// WatchTimeout returns for how long to ask the server to keep a watch. random returns a number
// from 0 to 1. (Exercise 3.2)
func WatchTimeout(random func() float64) time.Duration {
	_ = random
	return 5 * time.Minute
}
