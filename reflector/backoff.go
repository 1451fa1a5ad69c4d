package reflector

import (
	"errors"
	"math"
	"math/rand/v2"
	"time"
)

// Backoff says how long to wait before the next attempt after a failure that
// delivered nothing. A field that is zero means the default.
type Backoff struct {
	// Initial is the wait after the first failure in a row. The default is 800ms.
	Initial time.Duration
	// Factor is by how much it is multiplied with each further one. The default is 2.
	Factor float64
	// Max is what no wait exceeds. The default is 30s, or Initial if that is longer.
	Max time.Duration
	// Jitter spreads waits at random over [d, d·(1+Jitter)], so that clients
	// which failed together do not come back together. The default is 0.5; negative
	// means none.
	Jitter float64
	// Healthy is how long a watch must have run for failures to be forgotten.
	// A watch that ends sooner counts as a failure too, but resumes at once if it has
	// delivered something. The default is 10s.
	//
	// It also bounds requests, whatever the server does: nine can be sent without a
	// wait, and then one per Healthy, or one per Max/(1+Jitter)/2 if that is less.
	Healthy time.Duration
}

// withDefaults returns the backoff with each field that is zero set.
func (b Backoff) withDefaults() (Backoff, error) {
	if b.Initial < 0 || b.Max < 0 || b.Healthy < 0 || b.Factor < 0 {
		return b, errors.New("reflector: Initial, Factor, Max and Healthy of Options.Backoff must not be negative")
	}
	orDefault(&b.Initial, 800*time.Millisecond)
	orDefault(&b.Factor, 2)
	orDefault(&b.Max, max(30*time.Second, b.Initial))
	orDefault(&b.Jitter, 0.5)
	orDefault(&b.Healthy, 10*time.Second)
	b.Jitter = max(b.Jitter, 0)
	switch {
	case b.Factor < 1:
		return b, errors.New("reflector: Backoff.Factor is below 1: waits would shrink")
	case b.Max < b.Initial:
		return b, errors.New("reflector: Backoff.Max is below Backoff.Initial")
	}
	return b, nil
}

// delay returns the wait after the given number of failures in a row, from 1.
func (b Backoff) delay(failures int) time.Duration {
	limit := float64(b.Max) / (1 + b.Jitter)
	d := float64(b.Initial) * math.Pow(b.Factor, float64(failures-1))
	if !(d < limit) { // also if it has overflowed
		d = limit
	}
	return time.Duration(d * (1 + b.Jitter*rand.Float64()))
}

// orDefault sets a field that is zero.
func orDefault[V comparable](field *V, value V) {
	var zero V
	if *field == zero {
		*field = value
	}
}
