package reflector

import (
	"context"
	"log/slog"
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
	last       time.Time
	suppressed int // since then
}

// log writes a line: at once for a new reason, and then once a minute with the count of
// lines in between. It is for the goroutine of Run.
func (r *Reflector[T]) log(level slog.Level, reason, msg string, args ...any) {
	now, l := time.Now(), r.logs[reason]
	if !l.last.IsZero() && now.Sub(l.last) < logEvery {
		l.suppressed++
		r.logs[reason] = l
		return
	}
	if l.suppressed > 0 {
		args = append(args, "suppressed", l.suppressed)
	}
	r.logs[reason] = logged{last: now}
	r.logger().Log(context.Background(), level, msg, args...)
}

// warn logs what has gone wrong.
func (r *Reflector[T]) warn(reason, msg string, args ...any) {
	r.log(slog.LevelWarn, reason, msg, args...)
}
