package reflector

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/watch"
)

// Metrics records the measurements of one reflector: one value for each, which is
// what labels are for. The methods are called from the goroutine of [Reflector.Run]
// and must not block.
//
// Packages informer and workqueue have a Metrics of the same form, each with what its
// own type measures; package informer/prometheus implements all three.
type Metrics interface {
	// Listed is called after each attempt to read the collection as a whole,
	// with LIST or WatchList; class is "" if it succeeded, and then
	// objects is the size of the collection.
	Listed(took time.Duration, objects int, class ErrorClass)
	// Watched is called when a watch has ended, or could not be started; class
	// says why.
	Watched(took time.Duration, events int, class ErrorClass)
	// Received is called for each event of a watch.
	Received(typ watch.EventType)
	// Quarantined is called for each object that cannot be decoded or
	// transformed.
	Quarantined(class ErrorClass)
	// StateChanged is called at every change of state.
	StateChanged(from, to State)
}

type noMetrics struct{}

func (noMetrics) Listed(time.Duration, int, ErrorClass)  {}
func (noMetrics) Watched(time.Duration, int, ErrorClass) {}
func (noMetrics) Received(watch.EventType)               {}
func (noMetrics) Quarantined(ErrorClass)                 {}
func (noMetrics) StateChanged(State, State)              {}

// setState enters a state, and calls what observes states.
func (r *Reflector[T]) setState(to State) {
	var from State
	r.status.update(func(h *Health) {
		if from = h.State; from == to {
			return
		}
		h.State, h.Since = to, time.Now()
		if to != StateDegraded {
			h.NextAttempt = time.Time{}
		}
	})
	if from == to {
		return
	}
	r.opts.Metrics.StateChanged(from, to)
	if ctx := context.Background(); r.opts.Logger.Enabled(ctx, slog.LevelDebug) {
		r.logger().DebugContext(ctx, "state changed", "from", from, "to", to)
	}
	if r.opts.OnStateChange != nil {
		r.opts.OnStateChange(r.Health())
	}
}

// logger returns the logger that names the reflector. It is made when there is something
// to log, as most reflectors log once in their life.
func (r *Reflector[T]) logger() *slog.Logger {
	log := r.opts.Logger.With("reflector", r.opts.Name)
	if s, ok := As[interface{ Namespace() string }](r.lw); ok && s.Namespace() != "" {
		log = log.With("namespace", s.Namespace())
	}
	return log
}

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

// warn logs what has gone wrong, and info what has been done: at once for a new
// reason, and then once a minute with the count of lines in between. They are for the
// goroutine of Run.
func (r *Reflector[T]) warn(reason, msg string, args ...any) {
	r.logLimited(slog.LevelWarn, reason, msg, args)
}

func (r *Reflector[T]) info(reason, msg string, args ...any) {
	r.logLimited(slog.LevelInfo, reason, msg, args)
}

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
