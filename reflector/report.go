package reflector

import (
	"context"
	"log/slog"
	"slices"
	"time"
)

// logger returns the logger that names the reflector. It is made when there is something
// to log, as most reflectors log once in their life.
func (r *Reflector[T]) logger() *slog.Logger {
	log := r.opts.Logger.With("reflector", r.opts.Name)
	if r.namespace != "" {
		log = log.With("namespace", r.namespace)
	}
	return log
}

// logEvery is the least time between two log lines for the same reason.
const logEvery = time.Minute

// logged is the last line for a reason. Reasons are few: operations and classes of errors.
type logged struct {
	reason     string
	last       time.Time
	suppressed int // since then
}

// log writes a line: at once for a new reason, and then once a minute with the count of
// lines in between. It is for the goroutine of Run.
func (r *Reflector[T]) log(level slog.Level, reason, msg string, args ...any) {
	now := time.Now()
	i := slices.IndexFunc(r.logs, func(l logged) bool { return l.reason == reason })
	if i < 0 {
		i, r.logs = len(r.logs), append(r.logs, logged{reason: reason})
	}
	l := &r.logs[i]
	if !l.last.IsZero() && now.Sub(l.last) < logEvery {
		l.suppressed++
		return
	}
	if l.suppressed > 0 {
		args = append(args, "suppressed", l.suppressed)
	}
	l.last, l.suppressed = now, 0
	r.logger().Log(context.Background(), level, msg, args...)
}

// warn logs what has gone wrong.
func (r *Reflector[T]) warn(reason, msg string, args ...any) {
	r.log(slog.LevelWarn, reason, msg, args...)
}
