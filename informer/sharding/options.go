package sharding

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/informerkit/informerkit/informer/health"
)

const (
	// DefaultParts is [Options].Parts if it is 0.
	DefaultParts = 64

	maxParts         = 4096
	minLeaseDuration = time.Second
	maxLeaseDuration = time.Hour
)

// Options configures a [Replica]. Name, Namespace and Work are required; other fields
// that are zero mean the default.
type Options struct {
	// Name is that of the group, and the beginning of the names of its Leases: all
	// replicas of a program have the same. It is a DNS label of up to 63 characters.
	Name string
	// Namespace is where the Leases are. It must exist.
	Namespace string
	// Identity is how this replica appears in Leases, logs and [health.Replica]. The default is
	// the host name, which in a pod is the name of the pod. It need not be unique: each
	// session adds something random to it.
	Identity string

	// Parts is into how many parts the work is divided; 1 is leader election. All
	// replicas must agree: one that does not is refused by [Replica.Run]. The default
	// is DefaultParts, the most 4096. Take some ten times as many as there will
	// be replicas: the replicas of a group differ by one part at most.
	Parts int
	// Work is called for each part that this replica has, in a goroutine of its own. It
	// returns when ctx has ended and nothing of the part is in progress any more: then
	// the part is given up, and the cause of ctx says why.
	//
	//   - [ErrHandover]: another replica is to have the part, or Run is ending. Stop
	//     handing out keys, and finish those in progress. The part is still held, for at
	//     most DrainTimeout; then it is as with ErrLost.
	//   - [ErrLost]: the part may be taken by another replica soon. Return at once.
	//
	// The context of [Part.Context], for what is in progress, ends in the second case
	// only. If Work returns before ctx has ended it is called again, after a delay that
	// grows to 30 s; an error is logged. A panic is not recovered.
	Work func(ctx context.Context, part *Part) error

	// LeaseDuration is for how long a replica must not have been seen to renew its
	// session before another may end it. The default is 15s. It is between 1s and 1h.
	LeaseDuration time.Duration
	// RenewDeadline is for how long a replica works without a renewal that succeeded.
	// The default is two thirds of LeaseDuration, and less than it. What is between the
	// two is for keys in progress to end, and for clocks that go at different speeds:
	// (L-R)/(L+R), by default a fifth.
	RenewDeadline time.Duration
	// RenewInterval is the time between two renewals, give or take a tenth. The
	// default is a sixth of LeaseDuration, and the most half of RenewDeadline.
	RenewInterval time.Duration
	// DrainTimeout is how long Work may take after ErrHandover. The default is
	// LeaseDuration.
	DrainTimeout time.Duration

	// Logger gets what the replica takes and gives up, and what goes wrong. Nil means
	// slog.Default().
	Logger *slog.Logger
	// Metrics, if set, gets measurements.
	Metrics health.ReplicaMetricsProvider
	// Events, if set, gets Kubernetes Events for `kubectl describe`, sparingly: with one
	// part, that this replica leads and that it does not any more; with more, that it
	// has joined or left the group. The reasons are constants, such as [EventLeaderElected]. It is called
	// by one goroutine, and may block: then some Events are dropped, and nothing waits for them.
	Events EventRecorder
}

// complete checks the options and fills in the defaults.
func (o *Options) complete() error {
	if o.Parts == 0 {
		o.Parts = DefaultParts
	}
	if o.Identity == "" {
		host, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("sharding: no host name (%w); set Options.Identity", err)
		}
		o.Identity = strings.ToLower(host)
	}
	if why := validation.IsDNS1123Label(o.Name); len(why) > 0 {
		return fmt.Errorf("sharding: Options.Name is %q, which cannot be part of the name of a Lease: %s", o.Name, why[0])
	}
	if why := validation.IsDNS1123Label(o.Namespace); len(why) > 0 {
		return fmt.Errorf("sharding: Options.Namespace is %q: %s", o.Namespace, why[0])
	}
	id := names{o.Namespace, o.Name}.session(o.Identity + "-01234567")
	if why := validation.IsDNS1123Subdomain(id); len(why) > 0 {
		return fmt.Errorf("sharding: Options.Identity is %q, which cannot be part of the name of a Lease: %s", o.Identity, why[0])
	}
	switch {
	case o.Work == nil:
		return errors.New("sharding: Options.Work is nil; set it to what a replica does with a part that it has")
	case o.Parts < 0 || o.Parts > maxParts:
		return fmt.Errorf("sharding: Options.Parts is %d; use 1 for leader election, and up to %d", o.Parts, maxParts)
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o.completeTimes()
}

// completeTimes checks the durations, which depend on each other.
func (o *Options) completeTimes() error {
	if o.LeaseDuration < 0 || o.RenewDeadline < 0 || o.RenewInterval < 0 || o.DrainTimeout < 0 {
		return errors.New("sharding: LeaseDuration, RenewDeadline, RenewInterval and DrainTimeout must not be negative")
	}
	orDefault(&o.LeaseDuration, 15*time.Second)
	orDefault(&o.RenewDeadline, o.LeaseDuration*2/3)
	orDefault(&o.RenewInterval, min(o.LeaseDuration/6, o.RenewDeadline/2))
	orDefault(&o.DrainTimeout, o.LeaseDuration)
	switch {
	case o.LeaseDuration < minLeaseDuration || o.LeaseDuration > maxLeaseDuration:
		return fmt.Errorf("sharding: LeaseDuration is %v; use %v to %v", o.LeaseDuration, minLeaseDuration, maxLeaseDuration)
	case o.RenewDeadline >= o.LeaseDuration:
		return fmt.Errorf("sharding: RenewDeadline is %v, and LeaseDuration %v; it must be less, so that a replica stops before another one begins", o.RenewDeadline, o.LeaseDuration)
	case o.RenewInterval > o.RenewDeadline/2:
		return fmt.Errorf("sharding: RenewInterval is %v, and RenewDeadline %v; use at most half of it, so that one renewal may fail", o.RenewInterval, o.RenewDeadline)
	}
	return nil
}

func orDefault(field *time.Duration, value time.Duration) {
	if *field == 0 {
		*field = value
	}
}
