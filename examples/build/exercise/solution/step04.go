package solution

import "time"

// Delay returns how long to wait after so many failures in a row, the last of which came with
// a Retry-After; 0: with none. (Exercise 4.1)
func Delay(failures int, retryAfter time.Duration) time.Duration {
	return max(retryAfter, min(time.Second<<min(failures-1, 10), 30*time.Second))
}

// Failures returns how many failures in a row there were, after a watch that lasted a while
// and delivered some events. (Exercise 4.2)
func Failures(before int, lasted time.Duration, events int) int {
	_ = events // a server may send one, and hang up
	if lasted >= 5*time.Second {
		return 0
	}
	return before + 1
}
