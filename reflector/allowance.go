package reflector

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/informerkit/informerkit/reflector/internal/wire"
)

// burst is how many requests a reflector that has been quiet may send without a
// wait between them. Within the time in which one more is earned, that makes ten.
const burst = 9

// allowance is a token bucket of requests: it bounds what a server is asked,
// whatever it does. Without it a server that sends one event and hangs up could
// be asked as often as it answers.
//
// It is kept as the time at which the bucket is full again (the generic cell
// rate algorithm), which needs no timer. At first it is full.
type allowance struct {
	every time.Duration // in which one request is earned

	mu   sync.Mutex
	full time.Time
}

// pace returns in which time an allowance earns a request, at the pace of failures that go
// on: two requests, a list and a watch, per shortest wait of the longest backoff. A
// watch that runs for a healthy period pays for the next one.
func pace(b Backoff) time.Duration {
	return max(min(b.Healthy, time.Duration(float64(b.Max)/(1+b.Jitter))/2), minWait)
}

// wait returns how long to wait until at least n requests are left.
func (a *allowance) wait(now time.Time, n int) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.waitLocked(now, n)
}

// waitLocked is wait; the mutex must be held.
func (a *allowance) waitLocked(now time.Time, n int) time.Duration {
	if !a.full.After(now) {
		return 0
	}
	return max(a.full.Sub(now)-time.Duration(burst-n)*a.every, 0)
}

// spend takes a request if at least n are left, and returns how long to wait if
// there are not.
func (a *allowance) spend(now time.Time, n int) (wait time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if wait := a.waitLocked(now, n); wait > 0 {
		return wait
	}
	if a.full.Before(now) {
		a.full = now
	}
	a.full = a.full.Add(a.every)
	return 0
}

// charge takes a request that was sent without asking first. The next one waits
// until it is earned.
func (a *allowance) charge() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now := time.Now(); a.full.Before(now) {
		a.full = now
	}
	a.full = a.full.Add(a.every)
}

// charged returns a context for requests: net/http may send one again by itself, and that
// one counts too. A watch does without; see [liveStream].
func (r *Reflector[T]) charged(ctx context.Context) context.Context {
	return wire.WithCharge(ctx, r.allowance.charge)
}

// saving is the wait before a watch is resumed that has delivered something,
// while less than half of the allowance is left.
const saving = time.Second

// resumeWait returns how long to wait before a watch is resumed that has
// delivered something: not at all while half of the allowance is left. From then
// on a short wait makes the rest last longer.
func (a *allowance) resumeWait(now time.Time) time.Duration {
	if a.wait(now, burst/2+1) > 0 {
		return saving/2 + time.Duration(rand.Int64N(int64(saving/2)))
	}
	return 0
}

// request spends a request of the allowance, and waits for it if there is none.
// The error is that of ctx.
func (r *Reflector[T]) request(ctx context.Context) error {
	for !r.paced && ctx.Err() == nil {
		d := r.allowance.spend(time.Now(), 1)
		if d == 0 {
			break
		}
		r.rest(ctx, d)
	}
	return ctx.Err()
}

// rest waits before an attempt, visibly.
func (r *Reflector[T]) rest(ctx context.Context, d time.Duration) {
	r.status.note(func(t *trouble) { t.NextAttempt = time.Now().Add(d) })
	r.setState(StateDegraded)
	sleep(ctx, d)
}
