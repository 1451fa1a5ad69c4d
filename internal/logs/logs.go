// Package logs has what the log lines of all packages have in common.
package logs

import "time"

// Round returns a duration as a log line is to show it: with three digits at most, such as 59ms, 1.24s and 16m40s.
func Round(d time.Duration) time.Duration {
	long := max(d, -d)
	if long >= time.Minute {
		return d.Round(time.Second)
	}
	unit := time.Nanosecond
	for long/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit)
}
