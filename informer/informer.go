package informer

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/indexer"
	"github.com/informerkit/informerkit/reflector"
	"github.com/informerkit/informerkit/workqueue/history"
)

// Informer keeps a cache of one collection of objects equal to the API server's,
// and delivers what changes to handlers. Make one with [New], [NewNamespaced]
// or [For]; all methods may be called from any goroutine.
//
// A slow handler holds up neither the cache nor another handler: what reads from the
// server, what writes the cache and what calls a handler meet only at a queue and at
// a log.
type Informer[T Object] struct {
	applier *applier[T] // the cache, the event log, and how far they are

	name string
	// What is left of the options. The others are needed only to make sources.
	log      *slog.Logger // names the informer
	given    schema.GroupResource
	resync   time.Duration
	metrics  MetricsProvider
	recorder *history.Recorder

	done chan struct{} // closed when Run has returned

	uncomparable sync.Once // for the log: versions are not numbers

	// newSource returns a source of a namespace, or of all if that is empty.
	newSource func(namespace string, lw reflector.ListerWatcher[T]) (*source[T], error)
	// namespaced is whether there is one source per namespace, which may come and go.
	namespaced bool
	// newSelected returns a source of what the selection of the informer's progress has
	// returned, if the informer was made by NewSelected; else it is nil.
	newSelected func(selected any) (*source[T], error)
	// optional is whether all users of a shared informer can do without its kind.
	optional atomic.Bool
	// filled is whether the cache was filled before the first list.
	filled bool

	mu       sync.Mutex         // taken after the applier's; guards all below
	closed   bool               // no more handlers, nor sources
	launch   func(s *source[T]) // not nil while Run is running sources
	handlers []*runner[T]
	joined   int // handlers that were ever added
}

// New returns an informer of the collection that lw reads. It makes no request
// before Run.
func New[T Object](lw reflector.ListerWatcher[T], opts Options[T]) (*Informer[T], error) {
	if lw == nil {
		return nil, errors.New("informer: the ListerWatcher is nil; make one with reflector.NewResource or reflector.FromFuncs")
	}
	inf, err := newInformer(&opts)
	if err != nil {
		return nil, err
	}
	s, err := inf.newSource("", lw)
	if err != nil {
		return nil, inf.named(err)
	}
	// No goroutine has the informer yet, so the applier's mutex is not needed.
	inf.applier.setSources([]*source[T]{s})
	inf.newSource = nil // there is no other, and it holds the options
	return inf, nil
}

// newInformer returns an informer that has no source yet. It fills in the defaults of the
// options, with which its sources are to be made.
func newInformer[T Object](opts *Options[T]) (*Informer[T], error) {
	if opts.Name == "" {
		opts.Name = typeName[T]()
	}
	if r := opts.ResyncPeriod; r != 0 && r < minResyncStep {
		return nil, fmt.Errorf("informer %q: ResyncPeriod is %v; use 0 for no resync, or at least %v", opts.Name, r, minResyncStep)
	}
	if opts.Logger == nil {
		opts.Logger = slog.Default()
	}
	opts.Logger = opts.Logger.With("informer", opts.Name)
	// So that what the indexer logs names the informer too.
	if opts.Indexer.Logger == nil {
		opts.Indexer.Logger = opts.Logger
	}
	inf := &Informer[T]{
		name:     opts.Name,
		log:      opts.Logger,
		given:    opts.Resource,
		resync:   opts.ResyncPeriod,
		metrics:  opts.Metrics,
		recorder: opts.History,
		done:     make(chan struct{}),
	}
	store, err := indexer.New(opts.Indexer)
	if err != nil {
		return nil, inf.named(err)
	}
	if opts.InitialObjects != nil {
		inf.filled = true
		// The applier's mutex is not needed: nothing else has the informer yet.
		b := store.Batch()
		for obj := range opts.InitialObjects {
			if _, _, err := b.Set(obj); err != nil {
				opts.Logger.Warn("an initial object is not cached", "error", err)
			}
		}
		b.Commit()
		opts.InitialObjects = nil // it may hold a cache
	}
	inf.applier = newApplier(store)
	inf.newSource = func(namespace string, lw reflector.ListerWatcher[T]) (*source[T], error) {
		return newSource(namespace, lw, store, inf.applier.progress.recheck, opts)
	}
	if inf.recorder != nil {
		r := newRecording[T](inf.recorder, inf.name, "")
		inf.applier.observe = func(at time.Time, e *Event[T]) { r.note(at, history.Received, e, "") }
	}
	return inf, nil
}

// resource returns the resource that is read: the one that the options or the
// source name, as a source of reflector.NewResource does ("deployments.apps in
// namespace prod"), or a guess.
//
// It is called for each error of a lister rather than once, as a source that finds its
// resource by discovery does not know it at first.
func (inf *Informer[T]) resource() schema.GroupResource {
	if inf.given.Resource != "" {
		return inf.given
	}
	for _, s := range inf.applier.progress.current() {
		if named, ok := s.lw.(fmt.Stringer); ok {
			// Only for messages, so a source that prints something else does no harm.
			resource, _, _ := strings.Cut(named.String(), " ")
			return schema.ParseGroupResource(resource)
		}
	}
	return schema.GroupResource{Resource: strings.ToLower(inf.name)}
}

// Name returns the informer's name.
func (inf *Informer[T]) Name() string { return inf.name }

// named adds the informer's name to an error, if there is one.
func (inf *Informer[T]) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("informer %q: %w", inf.name, err)
}

// AddHandler adds a handler, at any time before the informer stops, with at most
// one [HandlerOptions]. It first gets every object in the cache, as an [Added] of
// the origin [InitialList], then what changes, with neither a gap nor a repetition.
// It delays neither the informer nor other handlers.
//
// It fails with [ErrStopped], or because of impossible arguments.
func (inf *Informer[T]) AddHandler(h Handler[T], options ...HandlerOptions) (*Registration, error) {
	if err := checkHandlers("AddHandler", h); err != nil {
		return nil, inf.named(err)
	}
	var opts HandlerOptions
	switch len(options) {
	case 0:
	case 1:
		opts = options[0]
	default:
		return nil, inf.named(fmt.Errorf("AddHandler got %d HandlerOptions; pass one at most", len(options)))
	}
	// The number is taken even if the handler cannot be added: names need not be dense.
	inf.mu.Lock()
	inf.joined++
	n := inf.joined
	inf.mu.Unlock()
	// Checked without mu: it depends on nothing that changes.
	if err := opts.complete(n, inf.resync); err != nil {
		return nil, err
	}
	if inf.recorder != nil {
		h = newRecording[T](inf.recorder, inf.name, opts.Name).wrap(h)
	}
	r := newRunner(h, opts, inf)
	inf.mu.Lock()
	// With mu held, so that stop either finds this handler in the list or keeps it from
	// joining. A runner must be in the list before it can end, as it takes itself off.
	ok := !inf.closed && r.join(inf.applier.events, opts.Bound, func() { go r.work() }, opts.ResyncPeriod)
	if ok {
		inf.handlers = append(inf.handlers, r)
	}
	inf.mu.Unlock()
	if !ok {
		return nil, fmt.Errorf("adding handler %q to informer %q: %w", opts.Name, inf.name, ErrStopped)
	}
	go r.work() // first it delivers the objects in the cache
	return &r.Registration, nil
}

// forget takes a runner that has stopped off the list, if it is there.
// It takes mu, so a runner must not finish with mu held.
func (inf *Informer[T]) forget(gone *Registration) {
	inf.mu.Lock()
	defer inf.mu.Unlock()
	if i := slices.IndexFunc(inf.handlers, func(r *runner[T]) bool { return &r.Registration == gone }); i >= 0 {
		// The order does not matter: Health sorts by name.
		last := len(inf.handlers) - 1
		inf.handlers[i], inf.handlers[last] = inf.handlers[last], nil
		inf.handlers = inf.handlers[:last]
	}
}

// Edit changes the cache while the informer does not run: before Run, for example to
// prepare a test, and after it. Before Run, handlers get what changes, in any order. While
// the informer runs, the cache equals the server's state, and Edit returns [ErrRunning].
// The batch is committed when edit returns, and discarded if edit panics.
func (inf *Informer[T]) Edit(edit func(*indexer.Batch[T])) error {
	a := inf.applier
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.progress.isStarted() && !isClosed(inf.done) {
		return inf.named(ErrRunning)
	}
	from, b := a.store.Snapshot(), a.store.Batch()
	defer b.Discard()
	edit(b)
	to := view[T]{snap: b.Commit(), covered: a.progress.covered()}
	diff := &listDiff[T]{from: from, to: to, origin: Watch}
	a.events.Append([]record[T]{{diff: diff, at: clock(time.Now())}}, to, false)
	return nil
}

// Snapshot returns the cache as it is now, for any number of consistent reads.
// It takes no lock and never changes.
func (inf *Informer[T]) Snapshot() *indexer.Snapshot[T] { return inf.applier.store.Snapshot() }

// Find returns the object with this key that is in the cache, for code that has
// informers of several types, such as a debugging page. See [Lister.Get].
func (inf *Informer[T]) Find(key types.NamespacedName) (Object, bool) {
	obj, ok := inf.applier.store.Get(key)
	if !ok {
		return nil, false
	}
	return obj, true
}

// Health returns the state of the informer, of what feeds it, and of its handlers.
func (inf *Informer[T]) Health() Health {
	snap := inf.Snapshot()
	h := Health{
		Name:            inf.name,
		Synced:          isClosed(inf.applier.progress.first),
		Stopped:         inf.applier.progress.stopped.Load(),
		Objects:         snap.Len(),
		ResourceVersion: snap.ResourceVersion(),
		Events:          inf.applier.events.End(),
	}
	// The locks are taken one after the other, never together: the parts may be of slightly
	// different moments, but a scrape cannot deadlock with the informer.
	inf.applier.progress.mu.Lock()
	h.SyncedAfter = inf.applier.progress.after
	h.OverdueWrites, h.OverdueTotal = inf.applier.progress.overdue.now, inf.applier.progress.overdue.total
	sources := inf.applier.progress.sources
	inf.applier.progress.mu.Unlock()
	for _, s := range sources {
		h.Sources = append(h.Sources, SourceHealth{Namespace: s.namespace, Selector: s.selector(), Queued: s.queue.Len(), Reflector: s.reflector.Health()})
	}
	if selection := inf.applier.progress.selection; selection != nil {
		inf.applier.progress.mu.Lock()
		selection.Health(&h)
		inf.applier.progress.mu.Unlock()
	}
	inf.mu.Lock()
	handlers := slices.Clone(inf.handlers)
	inf.mu.Unlock()

	now := time.Now()
	for _, r := range handlers {
		h.Handlers = append(h.Handlers, r.health(now))
	}
	sortByName(h.Handlers)
	return h
}

// sortByName is no method, so that a program compiles it once, and not with each of its packages.
func sortByName(handlers []HandlerHealth) {
	slices.SortFunc(handlers, func(a, b HandlerHealth) int { return cmp.Compare(a.Name, b.Name) })
}
