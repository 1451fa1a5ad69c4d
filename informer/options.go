package informer

import (
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/indexer"
	"github.com/informerkit/informerkit/reflector"
	"github.com/informerkit/informerkit/workqueue/history"
)

// Options configures an informer. The zero value is ready to use.
type Options[T Object] struct {
	// Name is for logs, errors, health and metrics. The default is the name of
	// the Go type, such as "Pod".
	Name string
	// Resource is what the errors of the [Lister] name. The default is what the
	// source says, if it does, and else is derived from Name.
	Resource schema.GroupResource
	// Logger gets what goes wrong. The default is slog.Default() at the time of
	// New; slog.New(slog.DiscardHandler) silences it.
	Logger *slog.Logger
	// Transform, if set, changes each object before it is stored, once, for
	// example to drop managedFields. It owns the object that it gets. UID,
	// resourceVersion, namespace and name are put back if it clears or changes
	// them: an object cannot be stored under another name. See
	// [reflector.Transform].
	Transform func(T) (T, error)
	// Reflector configures how the source is listed and watched.
	Reflector reflector.Options
	// Indexer configures the cache, for example its indexes.
	Indexer indexer.Options[T]
	// QueueLimit is the number of changes that may wait to be applied before the
	// informer stops reading from the server; 0 is 16,384, a negative
	// number no limit.
	QueueLimit int
	// InitialObjects, if set, fills the cache before the first list, for example
	// with what an informer before this one held. Handlers get them like any others,
	// and later what the first list changes. The informer is not synced before that
	// list. If it reads namespaces, objects of others are deleted when Run begins.
	InitialObjects iter.Seq[T]
	// ResyncPeriod is that of handlers whose options have none; 0 is no resync.
	ResyncPeriod time.Duration
	// Metrics, if set, gets measurements.
	Metrics MetricsProvider
	// History, if set, records what happens to each object: the changes that arrive, the
	// calls of handlers, and what predicates and filters do not pass on. The page of
	// package informer/inspect explains an object with it. Give it to the queues as well.
	// What a list finds is recorded as it is delivered, not as it arrives. It costs less
	// than 60 ns per entry and a read of the clock per call of a handler.
	History *history.Recorder
}

// defaultBound is the Bound of handlers whose options have none.
const defaultBound = 4096

// minResyncStep is the least time between two slices of a resync.
// Each step walks over all objects to find those of its slice.
const minResyncStep = time.Second

// HandlerOptions configures one registration. The zero value is ready to use.
type HandlerOptions struct {
	// Name is for logs, errors, health and metrics. The default is "handler-1",
	// "handler-2" and so on. It need not be unique.
	Name string
	// ResyncPeriod, if positive, delivers every object again once in each period
	// after the handler has synced, as an [Updated] of the origin [Resync]. The
	// objects are spread over the period; each has its exact time in it. The least
	// period is a second. 0 is the period of the informer's [Options].
	ResyncPeriod time.Duration
	// NoResync switches off the resync that the informer's options ask for.
	NoResync bool
	// Bound is how many events may wait for the handler, besides those that it is
	// processing. The log keeps events in chunks of 256, or of one larger batch, so
	// up to a chunk more may wait. The default is 4096. Beyond it the handler catches up:
	// instead of the events that wait it gets the difference between what it has seen and
	// the cache, one event per object that differs (two if another object has taken the
	// name), with the origin [CatchUp]. Its memory is bounded by the number of changed objects.
	//
	// A list counts as one event, and keeps all that it has changed. So of the lists that
	// update or delete objects only one may wait: at the second the handler catches up too.
	Bound int
	// Lossless keeps every event for as long as it takes, without a Bound: a handler that
	// stalls for ever makes the log grow for ever.
	Lossless bool
	// OnPanic, if set, is called when the handler panics, and the handler goes
	// on with the next event. If nil, the panic ends the process, like any other.
	OnPanic func(HandlerPanic)
}

// complete checks the options of the n-th handler and fills in the defaults.
func (o *HandlerOptions) complete(n int, resync time.Duration) error {
	switch {
	case o.NoResync && o.ResyncPeriod != 0:
		return fmt.Errorf("informer: HandlerOptions has NoResync and a ResyncPeriod of %v; set one of the two", o.ResyncPeriod)
	case o.ResyncPeriod < 0 || o.ResyncPeriod > 0 && o.ResyncPeriod < minResyncStep:
		return fmt.Errorf("informer: ResyncPeriod is %v; use 0 for no resync, or at least %v", o.ResyncPeriod, minResyncStep)
	case o.Bound < 0:
		return fmt.Errorf("informer: Bound is %d; use 0 for the default, or Lossless for none", o.Bound)
	case o.Lossless && o.Bound > 0:
		return errors.New("informer: a Lossless handler has no Bound; set one of the two")
	}
	if o.ResyncPeriod == 0 && !o.NoResync {
		o.ResyncPeriod = resync
	}
	if !o.Lossless && o.Bound == 0 {
		o.Bound = defaultBound
	}
	if o.Name == "" {
		o.Name = fmt.Sprintf("handler-%d", n)
	}
	return nil
}
