package reflector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// SyncMode says how a collection is read as a whole. The zero value uses WatchList where
// the source expects the server to know it, and LIST where it does not, or the server has
// refused.
type SyncMode string

const (
	// SyncList always uses LIST.
	SyncList SyncMode = "list"
	// SyncWatchList uses WatchList also where the source does not say that the
	// server knows it. A refusal still leads to a LIST.
	SyncWatchList SyncMode = "watchlist"

	syncAuto SyncMode = ""
)

// Options configure a [Reflector]. The zero value is ready to use: a field that is
// zero means the default.
type Options struct {
	// Name appears in logs. The default is the name of the source, if it has one.
	Name string
	// Logger receives state changes (debug), successful syncs (info), failures
	// and quarantined objects (warn), each reason at most once a minute.
	// The default is slog.Default(); a logger with slog.DiscardHandler is silent.
	Logger *slog.Logger
	// OnStateChange is called at every change of state, from the goroutine of
	// Run, which it must not hold up.
	OnStateChange func(Health)
	// OnQuarantine is called for every object that cannot be decoded or
	// transformed, from the goroutine of Run.
	OnQuarantine func(*ObjectError)
	// Metrics, if not nil, receives counts and durations.
	Metrics Metrics

	// Sync says how the collection is read as a whole.
	Sync SyncMode
	// PageSize is the number of objects per page of a LIST. If it is 0, a list
	// that the server answers from its watch cache is not paged, and one that
	// it reads from etcd has pages of 500.
	PageSize int64
	// DecodeUnchanged has every object of every list decoded, and handed to the sink
	// as a new pointer, also one that the sink has ([Known]) in this version. The same
	// version is the same stored object, but may have another representation: the
	// defaults or the conversion of a CustomResourceDefinition changed, or the server
	// was updated. Such a change has no event either.
	DecodeUnchanged bool

	// Backoff paces attempts after failures.
	Backoff Backoff
	// Policy, if not nil, decides after each failure whether to go on, and when.
	Policy func(Failure) Decision
	// Timeouts say what is taken for a failure; the defaults are rarely changed.
	Timeouts Timeouts

	// Monitor, if not nil, is called by New. What it returns is run for as long as Run,
	// in a goroutine of its own, and must return when its context ends; it may be nil. An
	// error is returned by New. Package informer/audit has one.
	Monitor func(Monitored) (run func(context.Context), err error)
}

// Monitored is a [Reflector] as [Options].Monitor sees it. The functions may be called
// from any goroutine.
type Monitored struct {
	Source any // the ListerWatcher; see [As]
	Sink   any
	Logger *slog.Logger
	Health func() Health
	// Relist has the collection read again, and each object decoded, because the sink
	// cannot be right: reason and err say why, in Health and in the log. It ends the
	// watch; if none is being followed, it does nothing and returns false.
	Relist func(reason ErrorClass, err error) bool
	// Report sets [Health].Monitor. The value must not change any more.
	Report func(v any)
}

// Timeouts bound how long a [Reflector] waits for a server. A field that is zero means
// the default.
type Timeouts struct {
	// Watch is the shortest time that the server is asked to keep a watch open; each
	// watch asks for a random time of up to twice that, so that watches do not end
	// together. The default is 5m. It is rounded up to seconds.
	Watch time.Duration
	// Answer is how long the server may take to begin an answer, and then for how
	// long no byte of a LIST may arrive. The default is 1m; negative means no limit.
	Answer time.Duration
	// Idle is how long no byte of an event or bookmark of a watch may arrive before
	// the connection is taken for half-open, and the watch resumed on another one.
	// The default is 5m; negative means no limit. API servers send bookmarks about once a minute. In any
	// case the client ends a watch that the server has not ended 30s after the time
	// agreed.
	Idle time.Duration
	// QuarantineRetry is how long after the loss of an event whose object could not
	// be decoded or transformed the collection is listed again. It doubles, up to 64
	// times, while that happens again. The default is 1m; less than 1s is taken as 1s.
	QuarantineRetry time.Duration
}

// maxWatchTimeout is effectively unlimited, but cannot overflow.
const maxWatchTimeout = 10 * 365 * 24 * time.Hour

// withDefaults returns the options with each field that is zero set.
func (o Options) withDefaults() (Options, error) {
	switch o.Sync {
	case syncAuto, SyncList, SyncWatchList:
	default:
		return o, fmt.Errorf("reflector: Options.Sync is %q; leave it unset, or use SyncList or SyncWatchList", o.Sync)
	}
	if o.PageSize < 0 {
		return o, errors.New("reflector: Options.PageSize is negative")
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Metrics == nil {
		o.Metrics = noMetrics{}
	}
	var err error
	if o.Backoff, err = o.Backoff.withDefaults(); err != nil {
		return o, err
	}
	o.Timeouts, err = o.Timeouts.withDefaults(o.Backoff.Healthy)
	return o, err
}

// withDefaults returns the timeouts for watches that are healthy after the given
// time.
func (t Timeouts) withDefaults(healthy time.Duration) (Timeouts, error) {
	if t.Watch < 0 || t.QuarantineRetry < 0 {
		return t, errors.New("reflector: of Options.Timeouts, only Answer and Idle may be negative")
	}
	t.Watch = cmp.Or(t.Watch, 5*time.Minute)
	t.Watch = min(t.Watch, maxWatchTimeout)
	t.Answer = cmp.Or(t.Answer, time.Minute)
	t.Idle = cmp.Or(t.Idle, 5*time.Minute)
	t.QuarantineRetry = cmp.Or(t.QuarantineRetry, time.Minute)
	if t.Watch < healthy || t.Idle > 0 && t.Idle < healthy {
		return t, errors.New("reflector: Timeouts.Watch or Timeouts.Idle is below Backoff.Healthy: no watch would ever count as healthy")
	}
	return t, nil
}
