package reflector

import (
	"context"
	"log/slog"
	"slices"
	"time"
)

// logEvery is the least time between two log lines for the same reason.
const logEvery = time.Minute

// logLimit lets the first log line for each reason pass, and then one a minute.
// Reasons are few: operations and classes of errors. It belongs to one goroutine.
type logLimit struct{ reasons []loggedReason }

type loggedReason struct {
	reason     string
	last       time.Time
	suppressed int // since then
}

// due reports whether a line for the reason is due, and how many were suppressed
// since the last one.
func (l *logLimit) due(reason string, now time.Time) (suppressed int, ok bool) {
	i := slices.IndexFunc(l.reasons, func(r loggedReason) bool { return r.reason == reason })
	if i < 0 {
		l.reasons = append(l.reasons, loggedReason{reason: reason, last: now})
		return 0, true
	}
	r := &l.reasons[i]
	if now.Sub(r.last) < logEvery {
		r.suppressed++
		return 0, false
	}
	suppressed = r.suppressed
	*r = loggedReason{reason: reason, last: now}
	return suppressed, true
}

// logger returns the logger that names the reflector. It is made when there is something
// to log, as most reflectors log once in their life.
func (r *Reflector[T]) logger() *slog.Logger {
	log := r.opts.Logger.With("reflector", r.opts.Name)
	if ns := sourceNamespace(r.lw); ns != "" {
		log = log.With("namespace", ns)
	}
	return log
}

// warn logs what has gone wrong, and info what has been done: at once for a new
// reason, and then once a minute with the count of lines in between.
func (r *Reflector[T]) warn(reason, msg string, args ...any) {
	r.logLimited(slog.LevelWarn, reason, msg, args)
}

func (r *Reflector[T]) info(reason, msg string, args ...any) {
	r.logLimited(slog.LevelInfo, reason, msg, args)
}

// logLimited logs a line if one for the reason is due. It is for the goroutine of Run.
func (r *Reflector[T]) logLimited(level slog.Level, reason, msg string, args []any) {
	suppressed, ok := r.logs.due(reason, time.Now())
	if !ok {
		return
	}
	if suppressed > 0 {
		args = append(args, "suppressed", suppressed)
	}
	r.logger().Log(context.Background(), level, msg, args...)
}
