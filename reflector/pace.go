package reflector

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"net/http/httptrace"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/informerkit/informerkit/internal/httpclient"
)

// Two rules say when the next request is sent. The backoff answers failures: it grows as
// long as nothing is delivered. The allowance bounds everything.

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
	// Healthy is how long watches must have run without a failure for earlier ones to be
	// forgotten. The default is 10s.
	//
	// It also bounds requests, whatever the server does: nine can be sent without a
	// wait, and then one per Healthy, or one per Max/(1+Jitter)/2 if that is less. A watch
	// that ran for a second or more does not count.
	Healthy time.Duration
}

// withDefaults returns the backoff with each field that is zero set.
func (b Backoff) withDefaults() (Backoff, error) {
	if b.Initial < 0 || b.Max < 0 || b.Healthy < 0 || b.Factor < 0 {
		return b, errors.New("reflector: Initial, Factor, Max and Healthy of Options.Backoff must not be negative")
	}
	b.Initial = cmp.Or(b.Initial, 800*time.Millisecond)
	b.Factor = cmp.Or(b.Factor, 2)
	b.Max = cmp.Or(b.Max, max(30*time.Second, b.Initial))
	b.Jitter = cmp.Or(b.Jitter, 0.5)
	b.Healthy = cmp.Or(b.Healthy, 10*time.Second)
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

// Failure is what [Options].Policy decides about.
type Failure struct {
	// Op is what failed: "list" or "watchlist" (reading the collection), "watch"
	// (starting a watch) or "stream" (a watch that had started).
	Op string
	// Class sorts the failure, Err is the whole of it.
	Class ErrorClass
	Err   error
	// Consecutive counts the failures since things were last healthy, this one
	// included.
	Consecutive int
	// Synced says that the sink has had the whole collection before.
	Synced bool
}

// Decision is what is done after a [Failure]. The zero value is [Retry].
type Decision struct {
	stop bool
	wait time.Duration
}

// Retry tries again after the backoff.
func Retry() Decision { return Decision{} }

// Stop makes Run return the error.
func Stop() Decision { return Decision{stop: true} }

// RetryAfter tries again after d, whatever the backoff is, or later if the
// server has asked for it. It suits failures that are expected to last, such as
// ClassNotFound while a CustomResourceDefinition is not installed yet: attempts
// at a pace of your own count neither for the backoff nor for the bound on
// requests. A d of less than 10ms is taken as 10ms.
func RetryAfter(d time.Duration) Decision { return Decision{wait: max(d, minWait)} }

// minWait is the shortest wait that a user can ask for: nothing spins.
const minWait = 10 * time.Millisecond

// waitAfter returns how long to wait after a failure. What the user says goes
// first, then what the server asks for; a watch that has delivered something
// resumes at once; and anything else backs off.
func (r *Reflector[T]) waitAfter(end ending, decision Decision, next phase) time.Duration {
	asked := askedToWait(end.err)
	absent := end.class == ClassNotFound
	if r.absent && !absent {
		// What does not exist yet is not a failing server.
		r.fruitless = 0
	}
	r.absent = absent
	// The policy may make it slower or faster than the allowance, but not faster than
	// the server asks.
	if r.paced = decision.wait > 0; r.paced {
		return max(decision.wait, asked)
	}
	now := time.Now()
	d := asked
	switch {
	case asked > 0:
	case end.advanced && next != phaseSync && end.cut():
		d = r.allowance.resumeWait(now)
	default:
		r.fruitless++
		d = r.opts.Backoff.delay(r.fruitless)
	}
	// Whatever the reason, the next request must be within the allowance.
	return max(d, r.allowance.wait(now, 1))
}

// askedToWait returns for how long the server has asked to be left alone, and a
// little more at random: it asks the same of all clients.
func askedToWait(err error) time.Duration {
	s, ok := apierrors.SuggestsClientDelay(err)
	if !ok || s <= 0 {
		return 0
	}
	asked := min(time.Duration(s)*time.Second, httpclient.MaxRetryAfter)
	return asked + time.Duration(rand.Int64N(int64(asked)/10+1))
}

// request spends a request of the allowance, and waits for it if there is none.
// The error is that of ctx.
func (r *Reflector[T]) request(ctx context.Context) error {
	for !r.paced && ctx.Err() == nil {
		d := r.allowance.spend(time.Now(), 1)
		if d == 0 {
			break
		}
		r.rest(ctx, d, nil)
	}
	return ctx.Err()
}

// rest waits before an attempt, visibly, or until changed is closed.
func (r *Reflector[T]) rest(ctx context.Context, d time.Duration, changed <-chan struct{}) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if changed != nil {
		go func() {
			select {
			case <-changed:
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	r.status.update(func(h *Health) { h.NextAttempt = time.Now().Add(d) })
	r.setState(StateDegraded)
	sleep(ctx, d)
}

const (
	// burst is how many requests a reflector that has been quiet may send without a
	// wait between them, as far as they are paid from the allowance.
	burst = 9
	// most is how many requests may be sent in any time of the length window, the ones
	// that are not paid included.
	most   = 10
	window = 10 * time.Second
	// saving is the longest wait before a watch is resumed that has delivered something
	// and ended at once, while less than half of the allowance is left.
	saving = time.Second
	// brief is how long a watch must have run to cost nothing of the allowance: one that
	// ends sooner may be the work of a broken server or proxy.
	brief = time.Second
)

// allowance bounds what a server is asked, whatever it does. Without it a server that sends
// one event and hangs up could be asked as often as it answers.
//
// It is a token bucket for the long run, and a window for the short one. The bucket is
// kept as the time at which it is full again (the generic cell rate algorithm), which
// needs no timer. At first it is full.
type allowance struct {
	every time.Duration // in which one request is earned

	mu   sync.Mutex
	full time.Time
	sent []time.Time // the last requests, most at most, the oldest first
}

// newAllowance earns at the pace of failures that go on: two requests, a list and a
// watch, per shortest wait of the longest backoff.
func newAllowance(b Backoff) *allowance {
	return &allowance{every: max(min(b.Healthy, time.Duration(float64(b.Max)/(1+b.Jitter))/2), minWait)}
}

// wait returns how long to wait until a request may be sent and at least n are left.
func (a *allowance) wait(now time.Time, n int) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.waitLocked(now, n)
}

// waitLocked is wait; the mutex must be held.
func (a *allowance) waitLocked(now time.Time, n int) time.Duration {
	unpaid := a.full.Sub(now) - time.Duration(burst-n)*a.every
	if a.full.IsZero() || !a.full.After(now) {
		unpaid = 0
	}
	if len(a.sent) < most {
		return max(unpaid, 0)
	}
	return max(unpaid, a.sent[0].Sub(now)+window, 0)
}

// spend takes a request if at least n are left, and returns how long to wait if
// there are not.
func (a *allowance) spend(now time.Time, n int) (wait time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if wait = a.waitLocked(now, n); wait == 0 {
		a.takeLocked(now)
	}
	return wait
}

// charge takes a request that is being sent without having asked first, and reports
// whether one was left.
func (a *allowance) charge(now time.Time) (left bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	left = a.waitLocked(now, 1) == 0
	a.takeLocked(now)
	return left
}

// takeLocked takes a request; the mutex must be held. There is no debt beyond an empty
// bucket: whatever was sent, the next request is earned in the usual time.
func (a *allowance) takeLocked(now time.Time) {
	if a.full.Before(now) {
		a.full = now
	}
	a.full = a.full.Add(min(a.every, now.Add(burst*a.every).Sub(a.full)))
	if len(a.sent) == most {
		a.sent = slices.Delete(a.sent, 0, 1)
	}
	a.sent = append(a.sent, now)
}

// refund gives a request back: that of a watch that was not brief.
func (a *allowance) refund() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.full = a.full.Add(-a.every)
}

// resumeWait returns how long to wait before a brief watch is resumed that has delivered
// something: not at all while half of the allowance is left. From then on a short wait
// makes the rest last longer.
func (a *allowance) resumeWait(now time.Time) time.Duration {
	if a.wait(now, burst/2+1) > 0 {
		return saving/2 + time.Duration(rand.Int64N(int64(saving/2)))
	}
	return 0
}

// counted returns the context for one call of the source, whose HTTP requests it counts.
// The first was asked for. More are sent if the source asks for something first, or if
// net/http repeats a GET because the server has closed the connection; that has no bound,
// so the call is cancelled when the allowance is used up.
func (r *Reflector[T]) counted(ctx context.Context, cancel context.CancelCauseFunc) context.Context {
	var first atomic.Bool
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		// Called for each request that gets a connection, also one that was kept, on any
		// goroutine.
		GotConn: func(httptrace.GotConnInfo) {
			if first.Swap(true) && !r.allowance.charge(time.Now()) {
				cancel(errRepeated)
			}
		},
	})
}
