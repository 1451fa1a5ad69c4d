package informer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/indexer"
	"github.com/informerkit/informerkit/internal/eventlog"
	"github.com/informerkit/informerkit/reflector"
)

var (
	// ErrStopped is returned, or wrapped, when an informer has stopped and what
	// was asked for can therefore not happen any more.
	ErrStopped = errors.New("informer: it has stopped; make a new one")
	// ErrRunning is returned by a second Run.
	ErrRunning = errors.New("informer: Run was called before; an informer runs once")
)

// Informer keeps a cache of one collection of objects equal to the API server's,
// and tells handlers what changes. Make one with [New]; all methods may be
// called from any goroutine.
type Informer[T Object] struct {
	name     string
	opts     Options[T]
	log      *slog.Logger
	store    *indexer.Indexer[T]
	empty    *indexer.Snapshot[T]
	events   *eventLog[T]
	metrics  InformerMetrics // guarded by applying; nil before Run and after it
	progress progress[T]

	applying sync.Mutex // serialises the sources' batches
	applier  applier[T]

	started  atomic.Bool
	synced   chan struct{}
	syncOnce sync.Once
	stopped  chan struct{} // closed when nothing will change any more
	done     chan struct{} // closed when Run has returned

	// namespaced is whether there is one source per namespace, which may come
	// and go, rather than a single one.
	namespaced bool
	// seeded is whether the cache was filled before the first list.
	seeded bool

	mu        sync.Mutex
	sources   []*source[T]       // guarded by applying; nil before Run and after it too
	launch    func(s *source[T]) // not nil while Run is running sources
	handlers  map[*delivery[T]]struct{}
	joined    int       // handlers that were ever added
	begin     time.Time // when Run was called
	syncAfter time.Duration
	closed    bool // no more handlers
}

// New returns an informer of the collection that lw reads. It makes no request
// before Run.
func New[T Object](lw reflector.ListerWatcher[T], opts Options[T]) (*Informer[T], error) {
	if lw == nil {
		return nil, errors.New("informer: the ListerWatcher is nil; make one with reflector.NewResource or reflector.FromFuncs")
	}
	inf, err := newInformer(opts)
	if err != nil {
		return nil, err
	}
	s, err := newSource(inf, "", lw)
	if err != nil {
		return nil, inf.named(err)
	}
	inf.sources = []*source[T]{s}
	inf.progress.publish(inf.sources, false)
	return inf, nil
}

// newInformer returns an informer that has no source yet.
func newInformer[T Object](opts Options[T]) (*Informer[T], error) {
	inf := &Informer[T]{
		name:     opts.Name,
		opts:     opts,
		log:      opts.Logger,
		synced:   make(chan struct{}),
		stopped:  make(chan struct{}),
		done:     make(chan struct{}),
		handlers: map[*delivery[T]]struct{}{},
	}
	if inf.name == "" {
		inf.name = typeName[T]()
	}
	if inf.log == nil {
		inf.log = slog.Default()
	}
	inf.log = inf.log.With("informer", inf.name)
	if opts.Indexer.Logger == nil {
		opts.Indexer.Logger = inf.log
	}
	var err error
	if inf.store, err = indexer.New(opts.Indexer); err != nil {
		return nil, inf.named(err)
	}
	inf.empty = inf.store.Snapshot()
	inf.opts.Seed = nil // it may hold a cache
	if opts.Seed != nil {
		inf.seeded = true
		b := inf.store.Batch()
		for obj := range opts.Seed {
			if _, _, err := b.Set(obj); err != nil {
				inf.log.Warn("an object of the seed is not cached", "error", err)
			}
		}
		b.Commit()
	}
	inf.applier.inf = inf
	inf.events = eventlog.New[record[T]](view[T]{snap: inf.store.Snapshot()})
	return inf, nil
}

// typeName returns "Pod" for *corev1.Pod.
func typeName[T any]() string {
	t := reflect.TypeFor[T]()
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name()
}

// resource returns the resource that is read: the one that the options or the
// source name, as a source of reflector.NewResource does ("deployments.apps in
// namespace prod"), or a guess.
func (inf *Informer[T]) resource() schema.GroupResource {
	if inf.opts.Resource.Resource != "" {
		return inf.opts.Resource
	}
	inf.mu.Lock()
	defer inf.mu.Unlock()
	for _, s := range inf.sources {
		if named, ok := s.lw.(fmt.Stringer); ok {
			resource, _, _ := strings.Cut(named.String(), " ")
			return schema.ParseGroupResource(resource)
		}
	}
	return schema.GroupResource{Resource: strings.ToLower(inf.name)}
}

// Name returns the informer's name.
func (inf *Informer[T]) Name() string { return inf.name }

// Run lists, watches, applies and notifies until ctx ends. Then no new call of a
// handler starts, Run waits for those that are running, and returns nil. What
// handlers had not been told by then they never are. The cache stays readable.
//
// An informer runs once; a second Run returns [ErrRunning]. Any other error
// means that the source cannot be reflected at all.
func (inf *Informer[T]) Run(ctx context.Context) error {
	if inf.started.Swap(true) {
		return ErrRunning
	}
	defer close(inf.done)
	inf.start()
	var err error
	if inf.namespaced {
		err = inf.runSources(ctx)
	} else {
		err = inf.sources[0].run(ctx)
	}
	inf.stop()
	if err != nil {
		return inf.named(err)
	}
	return nil
}

func (inf *Informer[T]) named(err error) error { return fmt.Errorf("informer %q: %w", inf.name, err) }

// start notes that the informer is running.
func (inf *Informer[T]) start() {
	inf.mu.Lock()
	inf.begin = time.Now()
	inf.mu.Unlock()
	if inf.opts.Metrics != nil { // without mu, which Health takes
		m := inf.opts.Metrics.Informer(inf.name, inf.Health)
		inf.applying.Lock()
		inf.metrics = m
		inf.applying.Unlock()
	}
}

// stop ends everything that depends on the informer, and waits for handlers.
func (inf *Informer[T]) stop() {
	inf.events.Close()
	inf.mu.Lock()
	inf.closed = true
	handlers := make([]*delivery[T], 0, len(inf.handlers))
	for d := range inf.handlers {
		handlers = append(handlers, d)
	}
	inf.mu.Unlock()
	close(inf.stopped)
	for _, d := range handlers {
		d.stop()
	}
	for _, d := range handlers {
		<-d.gone
	}
	inf.applying.Lock() // a namespace may still be removed, from any goroutine
	m := inf.metrics
	inf.metrics = nil
	inf.applying.Unlock()
	if m != nil {
		m.Close()
	}
}

// AddHandler adds a handler, at any time before the informer stops. It is told
// first of every object in the cache, as an [Added] of the origin [InitialList],
// then of what changes, with neither a gap nor a repetition. Nobody else is held
// up by it.
//
// It fails with [ErrStopped], or because of impossible options.
func (inf *Informer[T]) AddHandler(h Handler[T], opts HandlerOptions) (*Registration, error) {
	if h == nil {
		return nil, errors.New("informer: the handler is nil")
	}
	inf.mu.Lock()
	inf.joined++
	n := inf.joined
	inf.mu.Unlock()
	if err := opts.complete(n); err != nil {
		return nil, err
	}
	d := newDelivery(inf, h, opts)
	inf.mu.Lock()
	ok := !inf.closed && d.join(inf.events, opts.Bound, d.kick)
	if ok {
		inf.handlers[d] = struct{}{}
	}
	inf.mu.Unlock()
	if !ok {
		return nil, fmt.Errorf("adding handler %q to informer %q: %w", opts.Name, inf.name, ErrStopped)
	}
	d.kick()
	return &Registration{d: d, name: opts.Name, synced: d.synced, gone: d.gone}, nil
}

// forget takes a delivery that is over off the list.
func (inf *Informer[T]) forget(d *delivery[T]) {
	inf.mu.Lock()
	defer inf.mu.Unlock()
	delete(inf.handlers, d)
}

// Snapshot returns the cache as it is now, for any number of consistent reads.
// It takes no lock and never changes.
func (inf *Informer[T]) Snapshot() *indexer.Snapshot[T] { return inf.store.Snapshot() }

// Indexer returns the cache. It is for reading and for adding indexes: what is
// written to it directly, handlers are not told of.
func (inf *Informer[T]) Indexer() *indexer.Indexer[T] { return inf.store }
