package reflector

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// An API may support list and not watch: componentstatuses, the metrics of nodes and pods, and other
// aggregated APIs. Its collection is listed again and again. That is its normal life, so it is not degraded.

const (
	// pollEvery is the time between two lists, drawn from 25 to 35 seconds.
	pollEvery = 30 * time.Second
	// maxRetryWatch is the longest time until it tries to watch again: the server may have been upgraded, or the 404
	// came from a replica that did not know the resource yet. It doubles from pollEvery.
	maxRetryWatch = 10 * time.Minute
	// maxMissing is how many watches in a row get a 404, each after a successful list, until the collection is polled.
	maxMissing = 2
)

// polling is what is known about whether the collection can be watched. Once a watch has been accepted, it can: a 404
// or 405 is a failure then.
type polling struct {
	watched bool
	missing int           // watches in a row that got a 404
	retry   time.Duration // until the next watch; zero if the collection is not polled
	until   time.Time     // when that is
}

// doubted reports whether the server has refused a watch as one of what cannot be watched.
func (p *polling) doubted() bool { return p.retry > 0 || p.missing > 0 }

// due reports whether the collection is polled rather than watched now.
func (p *polling) due(now time.Time) bool { return p.retry > 0 && now.Before(p.until) }

// unwatchable reports whether a failure shows that the collection can be listed and not watched.
func (r *Reflector[T]) unwatchable(end ending) bool {
	p := &r.polling
	switch {
	case p.watched:
		return false
	case end.op == opList: // the kind may be gone: what a watch has said before is not about the same any more
		p.missing = 0
		return false
	case end.op != opWatch:
		return false
	case end.class == ClassNotFound:
		if p.missing++; p.missing < maxMissing && p.retry == 0 {
			return false
		}
	case !apierrors.IsMethodNotSupported(end.err):
		return false
	}
	if p.retry == 0 {
		r.warn("polling", "the server lists the collection and refuses to watch it, so it is polled", "every", pollEvery, "error", end.err)
	}
	p.retry = min(max(2*p.retry, pollEvery), maxRetryWatch)
	p.until = time.Now().Add(p.retry)
	r.noteError(end)
	return true
}

// poll waits for the time of the next list, or a call of Relist.
func (r *Reflector[T]) poll(ctx context.Context) error {
	r.fruitless, r.rewatches, r.paced, r.absent = 0, 0, false, false
	wait := pollEvery*5/6 + rand.N(pollEvery/3)
	pause, end := context.WithCancelCause(ctx)
	defer end(nil)
	r.status.update(func(h *Health) {
		r.status.since = time.Time{}
		h.ConsecutiveFailures, h.DegradedSince, h.NextAttempt = 0, time.Time{}, time.Now().Add(wait)
	})
	r.status.following(end)
	r.setState(StatePolling)
	sleep(pause, wait)
	r.status.following(nil)
	var relist *relistError
	if errors.As(context.Cause(pause), &relist) {
		r.pos.lost, r.pos.rewritten = true, r.pos.rewritten || relist.rewritten
		r.warn("relist "+string(relist.reason), "the collection is read again, as events may have been missed", "error", relist)
	}
	r.next = phaseSync
	return nil
}
