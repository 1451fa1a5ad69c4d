package sharding

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// stuck is whether this replica can do what it is counted for: to write the records of parts. One that
// renews its session and cannot write them (a Role, a webhook, a proxy) would keep its share from the
// others for as long as that lasts.
//
//	a write is wanted, and none has had an effect for two lease durations
//	  ─▶ the session ends, and others take its parts
//	  ─▶ the record of part 0 is written as it is, until the server accepts that ─▶ a new session
type stuck struct {
	wants  bool      // a record is to be written, or is being written
	since  time.Time // when the first one was wanted, of those without an effect since
	others time.Time // when the view has shown a write of another replica
	prove  bool      // no session is begun before a record was written
	trying bool
	times  int // how often a session has ended for this reason, in a row

	due      string    // a session that is to take a part that is free
	dueSince time.Time // when this was so for the first time
}

// written notes that the view shows another version of a record.
func (s *stuck) written(now time.Time, own bool) {
	if !own {
		s.others = now
		return
	}
	s.since, s.times = time.Time{}, 0
}

// endIfStuck ends the session of a replica that is stuck. One that works goes on unless another
// one can write: if the server accepts writes from nobody, an end helps nobody.
func (r *Replica) endIfStuck(now time.Time) {
	s := &r.stuck
	r.watchDue(now)
	if !s.wants {
		s.since = time.Time{}
		return
	}
	if s.since.IsZero() {
		s.since = now
	}
	if end := s.since.Add(2 * r.opts.LeaseDuration); now.Before(end) {
		r.at(end)
		return
	}
	if r.working() && s.others.Before(s.since.Add(-r.opts.LeaseDuration)) {
		return
	}
	cause := fmt.Errorf("no record of a part could be written for %v, so other replicas are to take the parts", 2*r.opts.LeaseDuration)
	r.failed(now, "stuck", "this replica leaves the group until it can write the records of parts", cause)
	r.endSession(cause)
	r.notJoin = now.Add(min(r.opts.LeaseDuration<<min(s.times, 10), max(30*time.Minute, r.opts.LeaseDuration)))
	s.since, s.prove = time.Time{}, true
	s.times++
}

// watchDue says that another replica does not take what it is to take.
func (r *Replica) watchDue(now time.Time) {
	s := &r.stuck
	if s.due == "" {
		s.dueSince = time.Time{}
		return
	}
	if s.dueSince.IsZero() {
		s.dueSince = now
	}
	late := s.dueSince.Add(r.opts.LeaseDuration)
	if now.Before(late) {
		r.at(late)
		return
	}
	r.failed(now, "due", "parts have no owner: the replica that is to take them does not", errors.New("waiting for a replica"), "session", s.due)
}

// proveWrites writes the record of part 0 as it is.
func (r *Replica) proveWrites(v *view, now time.Time) {
	if r.stuck.trying {
		return
	}
	r.stuck.trying = true
	l := v.parts[0].copy()
	r.request(func(ctx context.Context) error {
		_, err := r.client.update(ctx, l)
		return err
	}, func(now time.Time, err error) {
		r.stuck.trying = false
		if err == nil || apierrors.IsConflict(err) {
			r.stuck.prove = false
			return
		}
		r.failed(now, "stuck", "this replica cannot write the records of parts", err)
		r.notJoin = now.Add(r.jitter(r.opts.LeaseDuration))
	})
}
