package reflector

import (
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// SyncMode says how a collection is read as a whole.
type SyncMode string

const (
	// SyncAuto uses WatchList where the source expects the server to know it,
	// and LIST where it does not, or the server has refused.
	SyncAuto SyncMode = ""
	// SyncList always uses LIST.
	SyncList SyncMode = "list"
	// SyncWatchList uses WatchList also where the source does not say that the
	// server knows it. A refusal still leads to a LIST.
	SyncWatchList SyncMode = "watchlist"
)

// Options configure a [Reflector]. The zero value is a good choice; a field
// that is zero has the default named.
type Options struct {
	// Name appears in logs. The name of the source, if it has one.
	Name string
	// Logger receives state changes (debug), successful syncs (info), failures
	// and quarantined objects (warn), each reason at most once a minute.
	// slog.Default(); a logger with slog.DiscardHandler is silent.
	Logger *slog.Logger
	// OnStateChange is called at every change of state, from the goroutine of
	// Run, which it must not hold up.
	OnStateChange func(Health)
	// OnQuarantine is called for every object that cannot be decoded or
	// transformed, from the goroutine of Run.
	OnQuarantine func(*ObjectError)
	// Metrics, if not nil, receives counts and durations.
	Metrics Metrics

	// Sync says how the collection is read as a whole. SyncAuto.
	Sync SyncMode
	// PageSize is the number of objects per page of a LIST. If it is 0, a list
	// that the server answers from its watch cache is not paged, and one that
	// it reads from etcd has pages of 500.
	PageSize int64
	// WatchTimeout is the shortest time that the server is asked to keep a
	// watch open; each watch asks for a random time of up to twice that, so
	// that watches do not end together. 5m. It is rounded up to seconds.
	WatchTimeout time.Duration

	// AnswerTimeout is how long the server may take to begin an answer, and
	// then for how long no byte of a LIST may arrive. 1m; negative for no limit.
	AnswerTimeout time.Duration
	// IdleTimeout is how long no byte of an event or bookmark of a watch may
	// arrive before it is taken for half-open and started anew, from where it was. 5m;
	// negative for none. API servers send bookmarks about once a minute. In any
	// case a watch that the server has not ended 30s after the time agreed is
	// ended by the client.
	IdleTimeout time.Duration
	// ProgressTimeout is how long a WatchList may take to begin, and then its
	// initial events may bring no new object, before a LIST is used instead. 10s.
	// Bytes do not count here; those of the LIST do.
	ProgressTimeout time.Duration
	// CompletionTimeout is how long the initial events of a WatchList may take
	// altogether before a LIST is used instead, unless they still come at the
	// rate of a large collection, 100 new objects a second. 20s.
	CompletionTimeout time.Duration
	// RefusalMemory is for how long LIST is used after the server has refused a
	// WatchList or has not ended its initial events. 30m.
	RefusalMemory time.Duration

	// Backoff paces attempts after failures.
	Backoff Backoff
	// BackoffFunc, if not nil, replaces the waits of Backoff, not what it calls
	// healthy, and lifts the bound on requests. A wait that it returns is
	// lengthened if the server has asked for more, and to 10ms if it is shorter.
	BackoffFunc func(Failure) time.Duration
	// Policy, if not nil, decides after each failure whether to go on.
	Policy func(Failure) Decision
	// QuarantineRetry is how long after the loss of an event whose object could
	// not be decoded or transformed the collection is listed anew. It doubles,
	// up to 64 times, while that happens again. 1m; less than 1s is taken as 1s.
	QuarantineRetry time.Duration
}

// maxWatchTimeout is forever, and yet a number of seconds to calculate with.
const maxWatchTimeout = 10 * 365 * 24 * time.Hour

func (o Options) withDefaults() (Options, error) {
	switch o.Sync {
	case SyncAuto, SyncList, SyncWatchList:
	default:
		return o, fmt.Errorf("reflector: unknown SyncMode %q", o.Sync)
	}
	if o.PageSize < 0 || o.WatchTimeout < 0 || o.ProgressTimeout < 0 || o.CompletionTimeout < 0 || o.RefusalMemory < 0 || o.QuarantineRetry < 0 {
		return o, errors.New("reflector: Options has a negative field where none can be")
	}
	if o.BackoffFunc != nil && (o.Backoff.Initial != 0 || o.Backoff.Factor != 0 || o.Backoff.Max != 0 || o.Backoff.Jitter != 0) {
		return o, errors.New("reflector: both Backoff and BackoffFunc say how long to wait")
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Metrics == nil {
		o.Metrics = noMetrics{}
	}
	orDefault(&o.WatchTimeout, 5*time.Minute)
	o.WatchTimeout = min(o.WatchTimeout, maxWatchTimeout)
	orDefault(&o.AnswerTimeout, time.Minute)
	orDefault(&o.IdleTimeout, 5*time.Minute)
	orDefault(&o.ProgressTimeout, 10*time.Second)
	orDefault(&o.CompletionTimeout, 20*time.Second)
	orDefault(&o.RefusalMemory, 30*time.Minute)
	orDefault(&o.QuarantineRetry, time.Minute)
	var err error
	if o.Backoff, err = o.Backoff.withDefaults(); err != nil {
		return o, err
	}
	if o.WatchTimeout < o.Backoff.Healthy || o.IdleTimeout > 0 && o.IdleTimeout < o.Backoff.Healthy {
		return o, errors.New("reflector: WatchTimeout or IdleTimeout is below Backoff.Healthy: no watch would ever count as healthy")
	}
	return o, nil
}
