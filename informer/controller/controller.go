package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/internal/httpclient"
	"github.com/informerkit/informerkit/workqueue"
	"github.com/informerkit/informerkit/workqueue/history"
)

// Options configures a [Controller]. Config and Name are required; any other field may be zero.
type Options struct {
	// Config reaches the API server. If it sets no QPS, all clients together get 20 requests per
	// second, with a burst of 30; a negative QPS is no limit.
	Config *rest.Config
	// Name is for logs, metrics, the queue, the Events and, in managedFields, the writes. It is a qualified name
	// of the API of up to 128 bytes, such as "backups" or "example.com/backups".
	Name string
	// Workers is how many keys are reconciled at once; 0 means 1. One key is never reconciled
	// twice at once.
	Workers int

	// Leader, if set, is how this replica becomes the leader: leader.ByLease, or a function
	// around a replica of package sharding. Without it every replica works.
	Leader Leader

	// Metrics, if set, gets measurements; a Provider of package informer/prometheus is one.
	Metrics Metrics
	// History, if set, records what happens to each key, for the page of package inspect.
	History *history.Recorder
	// Health, if set, is the address at which /healthz and /readyz are served, such as ":8080". Controllers are not
	// ready after 30 seconds without the API server. If the program also serves a webhook, leave it empty, and serve a
	// probe that reports [Controller.Unsynced].
	Health string
	// Serve are other handlers to be served while the controller runs, by address: metrics, or a
	// page of package inspect. The address of Health may be among them; both are then served
	// there. Port 0 takes a free one, which only the log says. A page that shows objects
	// belongs on a loopback address, such as "127.0.0.1:6060": there is no authentication.
	Serve map[string]http.Handler

	// Informers configures all informers: namespaces, resync, a transform. Its Logger,
	// Metrics and History are those above, if it has none.
	Informers informer.FactoryOptions
	// Limiter decides when a failed key is tried again. The default is that of
	// workqueue.NewRateLimiting: after 5 ms, and then twice as long each time, up to 1,000 s, each ±20%. For
	// less: workqueue.Exponential[types.NamespacedName](workqueue.ExponentialOptions{Max: time.Minute, Jitter: 0.2}).
	Limiter workqueue.RateLimiter[types.NamespacedName]
	// Process configures the workers further. Its StopTimeout, the time that reconciles
	// in progress get at the end, is 20 s if 0: pods get 30 s by default.
	Process workqueue.ProcessOptions[types.NamespacedName]
	// CrashOnPanic lets a panic of the reconcile function end the program. By default the panic is a failure of the
	// key: it is logged with its stack, counted in the Stats, and the key is retried.
	CrashOnPanic bool
	// Logger gets what goes wrong. The default is slog.Default().
	Logger *slog.Logger
}

// Leader runs work in each term in which this replica leads, until ctx ends or work returns by
// itself. The context that work gets ends when it has to stop; that of [Term], when leadership is lost.
type Leader func(ctx context.Context, cfg *rest.Config, work func(ctx context.Context, term Term) error) error

// Term is a time in which this replica leads: a *leader.Term or a *sharding.Part.
type Term = interface {
	// Context ends when leadership is lost: nothing may be written after that.
	Context() context.Context
	// Held reports whether this replica leads at this moment.
	Held() bool
}

// Metrics provides what gets the measurements of informers and of the queue.
type Metrics interface {
	informer.MetricsProvider
	workqueue.MetricsProvider
}

const (
	defaultQPS         = 20
	defaultBurst       = 30
	defaultStopTimeout = 20 * time.Second
	maxIdentifyPause   = 30 * time.Second
)

// Controller brings the state of a cluster closer to what its objects say, one key at a time.
// Make one with [New], say what it reads with [For], [Owns], [Watches] and [Reads], and run it.
type Controller struct {
	opts    Options
	cfg     *rest.Config // with the limits that the clients share
	factory *informer.Factory
	events  *client.Events
	sources []source
	errs    []error // what is wrong with the arguments so far

	resource schema.GroupVersionResource // of For
	kind     *schema.GroupVersionKind    // of the reconciled objects; nil before For
	cluster  bool                        // they are in no namespace
	unknown  atomic.Pointer[error]       // why discovery has not answered; nil if it need not, or has

	started atomic.Bool
	queue   atomic.Pointer[queue] // of the newest term; for the page and metrics

	unseen   sync.Map      // *unseen by key: writes that caches have still to see
	eventLog oncePerMinute // lines about Events that cannot be written
}

// queue is what keys wait in.
type queue = workqueue.RateLimitingQueue[types.NamespacedName]

// source fills the queue of a term.
type source func(q *queue) (*informer.Registration, error)

// Reconcile brings the state closer to what the object with this key says; the object may not exist
// any more. What is returned says when the key is processed again; see
// [workqueue.ProcessWith]. It is called for different keys at once, and never twice at once for one.
type Reconcile func(ctx context.Context, key types.NamespacedName) (workqueue.Result, error)

// New returns a controller. It makes no request. [Controller.Run] returns the errors of these and later
// arguments.
func New(opts Options) *Controller {
	c := &Controller{}
	if opts.Logger == nil {
		opts.Logger = slog.Default()
	}
	opts.Logger = opts.Logger.With("controller", opts.Name)
	switch {
	case opts.Name == "":
		c.refuse(errors.New("Options.Name is empty; set it to what the controller is to be called in logs and metrics"))
	case opts.Process.CapturePanics:
		c.refuse(errors.New("Options.Process has CapturePanics; panics are recovered unless Options.CrashOnPanic is set"))
	case opts.Process.Workers != 0:
		c.refuse(errors.New("Options.Process has Workers; set Options.Workers"))
	}
	opts.Process.Workers = opts.Workers
	opts.Process.StopTimeout = cmp.Or(opts.Process.StopTimeout, defaultStopTimeout)
	opts.Process.Logger = cmp.Or(opts.Process.Logger, opts.Logger)
	opts.Informers.Logger = cmp.Or(opts.Informers.Logger, opts.Logger)
	opts.Informers.History = cmp.Or(opts.Informers.History, opts.History)
	if opts.Informers.Metrics == nil && opts.Metrics != nil {
		opts.Informers.Metrics = opts.Metrics
	}
	c.opts = opts
	if opts.Config == nil {
		c.refuse(errors.New("Options.Config is nil; read one with clientcmd or rest.InClusterConfig"))
		return c
	}
	var err error
	if c.cfg, err = httpclient.Share(opts.Config); err != nil { // one connection for informers and clients
		c.refuse(err)
		return c
	}
	if c.cfg.RateLimiter == nil && c.cfg.QPS >= 0 {
		c.cfg.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(cmp.Or(c.cfg.QPS, defaultQPS), cmp.Or(c.cfg.Burst, defaultBurst))
	}
	if c.factory, err = informer.NewFactory(c.cfg, opts.Informers); err != nil {
		c.refuse(err)
		return c
	}
	if c.events, err = client.NewEvents(c.cfg, opts.Name); err != nil {
		c.refuse(fmt.Errorf("Options.Name: %w", err))
	}
	return c
}

// refuse notes what is wrong with an argument.
func (c *Controller) refuse(err error) { c.errs = append(c.errs, err) }

// Run works until ctx ends, and returns when all that it started has ended:
//
//	informers run ─▶ synced ─▶ discovery ─▶ (leads) ─▶ workers ─▶ ctx ends ─▶ workers end ─▶ informers stop
//
// It returns nil if ctx has ended, at whatever step. It fails because of the arguments so far, an
// address that cannot be listened on, an informer that fails for good, or leadership that cannot be
// sought; with [workqueue.ErrStopTimeout] if a reconcile did not end in time; and with
// [informer.ErrRunning] if it is called a second time.
func (c *Controller) Run(ctx context.Context, reconcile Reconcile) error {
	if c.started.Swap(true) {
		return c.named(informer.ErrRunning)
	}
	if reconcile == nil {
		c.refuse(errors.New("Run: the reconcile function is nil"))
	}
	if c.kind == nil {
		c.refuse(errors.New("no objects to reconcile; call For"))
	}
	if len(c.errs) > 0 {
		return c.named(errors.Join(c.errs...))
	}
	stop, err := c.serve()
	if err != nil {
		return c.named(err)
	}
	defer stop()
	process := c.opts.Process
	work := func(ctx context.Context, term Term) error { return c.work(ctx, term, process, reconcile) }
	err = c.factory.Run(ctx, func(ctx context.Context) error {
		if !c.identify(ctx) {
			return nil // ctx is done
		}
		if c.opts.Leader != nil {
			c.opts.Logger.Info("all caches have what the server has: the controller works when it leads", "workers", max(1, process.Workers))
			return c.opts.Leader(ctx, c.opts.Config, work)
		}
		c.opts.Logger.Info("all caches have what the server has: the controller works now", "workers", max(1, process.Workers))
		return work(ctx, always{ctx})
	})
	return c.named(err)
}

// identify asks discovery for the kind and the scope of the reconciled objects: owner references name their owner by its
// kind, and a cluster-scoped owner has another key. The caches are synced, so the kind is installed. It retries a failure.
func (c *Controller) identify(ctx context.Context) (done bool) {
	for pause := time.Second; ; pause = min(2*pause, maxIdentifyPause) {
		found, err := c.factory.Discover(ctx, c.resource)
		if err == nil {
			c.cluster = !found.Namespaced
			if c.kind.Kind != found.Kind { // else others may read it
				c.kind.Kind = found.Kind
			}
			c.unknown.Store(nil)
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		if apierrors.IsForbidden(err) {
			err = fmt.Errorf("%w; bind the user to the ClusterRole system:discovery", err)
		}
		err = fmt.Errorf("the controller waits for the kind and the scope of %s from discovery: %w", c.resource.Resource, err)
		c.unknown.Store(&err)
		c.opts.Logger.Warn("discovery failed, will retry", "error", err, "wait", pause)
		select {
		case <-ctx.Done():
			return false
		case <-time.After(pause):
		}
	}
}

// named adds the controller's name to an error, if there is one.
func (c *Controller) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("controller %q: %w", c.opts.Name, err)
}

// always is the term of a controller without a leader.
type always struct{ run context.Context } //nolint:containedctx // a term is a span of time

// Context goes on in a stop.
func (a always) Context() context.Context { return context.WithoutCancel(a.run) }

func (always) Held() bool { return true }

// Ready returns why the caches are not fit for use, or nil if they are. A replica that is not the
// leader is ready, too.
func (c *Controller) Ready() error {
	if c.factory == nil {
		return c.named(errors.Join(c.errs...))
	}
	err := c.factory.Ready()
	if unknown := c.unknown.Load(); unknown != nil {
		err = errors.Join(err, *unknown)
	}
	return err
}

// Unsynced returns why caches have not had a first list, or nil; see [informer.Factory.Unsynced].
func (c *Controller) Unsynced() error {
	if c.factory == nil {
		return c.named(errors.Join(c.errs...))
	}
	return c.factory.Unsynced()
}

// Health returns the health of each informer, for a page of package inspect.
func (c *Controller) Health() []informer.Health {
	if c.factory == nil {
		return nil
	}
	return c.factory.Health()
}

// Find returns the objects with this key, by the names of their informers, for a page of package
// inspect.
func (c *Controller) Find(key types.NamespacedName) map[string]informer.Object {
	if c.factory == nil {
		return nil
	}
	return c.factory.Find(key)
}

// Event writes an Event about an object: why something was done or cannot be, in the words of the user
// of the API. typ is "Normal" or "Warning", reason one word for programs. Repetitions are
// counted rather than written; see [client.Events]. Failures are logged, once a minute at most.
func (c *Controller) Event(ctx context.Context, about informer.Object, typ, reason, note string) {
	if c.events == nil {
		return
	}
	err := c.events.Record(ctx, about, typ, reason, note)
	if err == nil || ctx.Err() != nil {
		return
	}
	if log, suppressed := c.eventLog.next(time.Now()); log {
		c.opts.Logger.Warn("an Event cannot be written", "object", client.KeyOf(about), "reason", reason, "error", err, "suppressed", suppressed)
	}
}

// oncePerMinute says which failures are logged. The cause is mostly the same for all objects: missing
// rights, or a server that cannot be reached.
type oncePerMinute struct {
	mu         sync.Mutex
	last       time.Time
	suppressed int
}

// next reports whether to log a failure, and how many were not logged since the last line.
func (o *oncePerMinute) next(now time.Time) (log bool, suppressed int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.last.IsZero() && now.Sub(o.last) < time.Minute {
		o.suppressed++
		return false, 0
	}
	suppressed, o.suppressed, o.last = o.suppressed, 0, now
	return true, suppressed
}
