package leader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer/client"
)

// ErrLost is the cause with which the contexts of a term end when the Lease was not renewed in
// time, or names another holder.
var ErrLost = errors.New("leader: the Lease is lost: it was not renewed in time, or another replica has it")

// Options configures an [Elector]. Name, Namespace and Lead are required; other fields that are
// zero mean the default. The durations have the names, meanings and defaults of client-go's
// LeaderElectionConfig; all replicas should have the same.
type Options struct {
	// Name and Namespace are those of the Lease. The namespace must exist, the Lease need not.
	Name, Namespace string
	// Identity is the beginning of the name by which this replica is known; "_" and 32 random
	// hexadecimal digits follow, so that no two have the same. The default is the host name.
	Identity string
	// Lead is called in each term of this replica, in a goroutine of its own, and does the work of the
	// leader. Its context ends with the context of Run, or with the cause [ErrLost]. The replica
	// leads until Lead has returned. If it returns before its context has ended, Run ends. A
	// panic is not recovered.
	Lead func(ctx context.Context, term *Term) error

	// LeaseDuration is how long a candidate must have seen no renewal before it takes the
	// Lease. The default is 15s, the least 1s. The Lease states it in seconds, rounded up.
	LeaseDuration time.Duration
	// RenewDeadline is how long the leader leads after it has sent a renewal that succeeded. The
	// default is 10s. It is less than LeaseDuration.
	RenewDeadline time.Duration
	// RetryPeriod is the time between two renewals, or looks of a candidate, who adds up to 120% of
	// it at random. The default is 2s, and RenewDeadline is more than 1.2 times as long.
	RetryPeriod time.Duration

	// Logger gets who leads, and what goes wrong. Nil means slog.Default(): the logger of a
	// controller is not passed on, so set it here, too.
	Logger *slog.Logger
}

// maxIdentity bounds the bytes of an Identity, which each log line repeats.
const maxIdentity = 256

// jitter is how much a candidate adds to RetryPeriod at most, as a fraction: client-go's JitterFactor.
const jitter = 1.2

// complete checks the options and fills in the defaults.
func (o *Options) complete() error {
	if why := validation.IsDNS1123Subdomain(o.Name); len(why) > 0 {
		return fmt.Errorf("leader: Options.Name is %q, which cannot be the name of a Lease: %s", o.Name, why[0])
	}
	if why := validation.IsDNS1123Label(o.Namespace); len(why) > 0 {
		return fmt.Errorf("leader: Options.Namespace is %q: %s", o.Namespace, why[0])
	}
	if o.Lead == nil {
		return errors.New("leader: Options.Lead is nil; set it to what the leader does")
	}
	if o.Identity == "" {
		host, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("leader: no host name (%w); set Options.Identity", err)
		}
		o.Identity = host
	}
	if len(o.Identity) > maxIdentity || !utf8.ValidString(o.Identity) {
		return fmt.Errorf("leader: Options.Identity has %d bytes; use valid UTF-8 of up to %d, or the Lease would name another holder than this replica", len(o.Identity), maxIdentity)
	}
	o.Logger = cmp.Or(o.Logger, slog.Default())
	o.LeaseDuration = cmp.Or(o.LeaseDuration, 15*time.Second)
	o.RenewDeadline = cmp.Or(o.RenewDeadline, 10*time.Second)
	o.RetryPeriod = cmp.Or(o.RetryPeriod, 2*time.Second)
	switch {
	case o.RetryPeriod < 0 || o.RenewDeadline < 0 || o.LeaseDuration < time.Second:
		return fmt.Errorf("leader: LeaseDuration is %v, RenewDeadline %v and RetryPeriod %v; use 1s at least for the first, and no negative ones", o.LeaseDuration, o.RenewDeadline, o.RetryPeriod)
	case o.LeaseDuration > math.MaxInt32*time.Second:
		return fmt.Errorf("leader: LeaseDuration is %v; a Lease holds up to %v", o.LeaseDuration, math.MaxInt32*time.Second)
	case o.RenewDeadline >= o.LeaseDuration:
		return fmt.Errorf("leader: RenewDeadline is %v, and LeaseDuration %v; it must be less, so that a leader stops before another one begins", o.RenewDeadline, o.LeaseDuration)
	case float64(o.RenewDeadline) <= jitter*float64(o.RetryPeriod):
		return fmt.Errorf("leader: RenewDeadline is %v, and RetryPeriod %v; it must be more than %v times as long, so that one renewal may fail", o.RenewDeadline, o.RetryPeriod, jitter)
	}
	return nil
}

// Elector is one replica of a program of which one leads. Create one with [New], and run it.
//
//	candidate ── the Lease is free, or not renewed for LeaseDuration: taken ──▶ leads: Lead runs
//	    ▲                                                                         │
//	    └── Lead has returned ◀── ErrLost: RenewDeadline has passed, or another holder
//
// All methods may be called from any goroutine.
type Elector struct {
	opts    Options
	id      string
	client  *client.Client[*lease]
	log     *slog.Logger
	running atomic.Bool

	// The following belongs to the goroutine of Run.
	lease    *lease    // as it was read or written last; nil: never
	observed time.Time // when it was seen for the first time in that version
	sent     time.Time // when it was written last
	logged   string    // the newest failure in the log
	rnd      *rand.Rand

	mu     sync.Mutex
	status Status
}

// Status is what an [Elector] knows at one moment.
type Status struct {
	// Identity is that of this replica, and Leader that of the holder of the Lease as it was seen
	// last, "" if there was none. It may have lost the Lease since.
	Identity, Leader string
	// Leads is whether this replica leads: from the call of Lead until it has returned.
	Leads bool
	// Renewed is when this replica has sent the newest renewal that succeeded.
	Renewed time.Time
	// LastError is why the newest attempt to read or write the Lease failed, nil if it did not.
	LastError error
}

// New returns an elector. It makes no request. The errors are about cfg and the options.
func New(cfg *rest.Config, opts Options) (*Elector, error) {
	if err := opts.complete(); err != nil {
		return nil, err
	}
	if cfg == nil {
		return nil, errors.New("leader: the rest.Config is nil; pass that of the API server that has the Lease")
	}
	cfg = rest.CopyConfig(cfg)
	cfg.QPS, cfg.RateLimiter = -1, nil // a renewal that waits for its turn comes too late
	c, err := client.New[*lease](cfg, leases, client.Options{Kind: "Lease"})
	if err != nil {
		return nil, fmt.Errorf("leader: %w", err)
	}
	e := &Elector{opts: opts, client: c, rnd: rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))}
	e.id = fmt.Sprintf("%s_%016x%016x", opts.Identity, e.rnd.Uint64(), e.rnd.Uint64())
	e.log = opts.Logger.With("lease", opts.Namespace+"/"+opts.Name, "replica", e.id)
	e.status.Identity = e.id
	return e, nil
}

// Status describes the elector.
func (e *Elector) Status() Status {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.status
}

func (e *Elector) note(f func(s *Status)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f(&e.status)
}
