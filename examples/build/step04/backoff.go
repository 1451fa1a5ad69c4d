package build

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	// FirstDelay is about how long to wait after a failure. Each further one doubles it.
	FirstDelay = time.Second
	// LongestDelay is about the longest.
	LongestDelay = 30 * time.Second
	// Healthy is how long a watch has to last to count as no failure.
	Healthy = 5 * time.Second
)

// delay returns how long to wait after so many failures in a row: between a half and
// one and a half of the nominal delay, so that clients that have failed together do
// not come back together.
func delay(failures int) time.Duration {
	nominal := min(FirstDelay<<min(failures-1, 10), LongestDelay)
	return nominal/2 + rand.N(nominal)
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
