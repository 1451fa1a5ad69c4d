package sharding

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

// logEvery is the least time between two lines for the same reason.
const logEvery = time.Minute

// loggedReason is the last line for a reason. The first one passes, and then one a minute.
type loggedReason struct {
	last       time.Time
	suppressed int
}

// failed notes an error, and logs it unless the same reason was logged within a minute.
func (r *Replica) failed(now time.Time, reason, message string, err error, args ...any) {
	r.counts.LastError, r.counts.LastErrorTime = fmt.Errorf("%s: %w", message, err), now
	l := r.failures[reason]
	if l != nil && now.Sub(l.last) < logEvery {
		l.suppressed++
		return
	}
	args = append(args, "error", err)
	if l != nil && l.suppressed > 0 {
		args = append(args, "suppressed", l.suppressed)
	}
	r.failures[reason] = &loggedReason{last: now}
	r.log.Warn(message, args...)
}

// say logs what becomes of a part. With many parts that is detail; describe has the
// sum.
func (r *Replica) say(what string, part int) {
	switch {
	case r.opts.Parts > 1:
		r.log.Log(context.Background(), slog.LevelDebug, "this replica has "+what+" a part", "part", part)
	case what == "taken":
		r.log.Info("this replica leads now, as it has the only part")
		r.event(normal, EventLeaderElected, "leads")
	default:
		r.log.Info("this replica leads no longer: it has released the Lease")
		r.event(normal, EventLeaderReleased, "has released the Lease")
	}
}

// describe logs who is in the group, when that has changed.
func (r *Replica) describe(v *view) {
	replicas := v.replicas()
	if shape := fmt.Sprint(replicas); shape != r.shape {
		r.shape = shape
		r.log.Info("the replicas of this group have changed", "replicas", len(replicas), "parts", r.opts.Parts, "quota", r.quota(v))
	}
}
