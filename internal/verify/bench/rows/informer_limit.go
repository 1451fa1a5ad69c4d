package rows

import (
	"fmt"
	"time"

	"github.com/informerkit/informerkit/internal/verify/bench"
)

// limit is far more than setting up, or a run, takes on any machine.
const limit = 2 * time.Minute

// limited returns a subject that panics when setting it up or a run does not end,
// instead of waiting for ever for an event that has been lost.
func limited(work string, setup func() bench.Subject) bench.Subject {
	defer watchdog(work, "setting up")()
	s := setup()
	run := s.Run
	s.Run = func(n int) {
		defer watchdog(work, "a run")()
		run(n)
	}
	return s
}

// watchdog panics unless stop is called in time.
func watchdog(work, what string) (stop func()) {
	t := time.AfterFunc(limit, func() {
		panic(fmt.Sprintf("%s: %s has not ended after %v: has an event been lost?", work, what, limit))
	})
	return func() { t.Stop() }
}

// grouped writes 10000 as 10,000.
func grouped(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
}
