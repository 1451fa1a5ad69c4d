package informer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/deltafifo"
	"github.com/informerkit/informerkit/indexer"
	"github.com/informerkit/informerkit/internal/object"
	"github.com/informerkit/informerkit/reflector"
)

// source reads one collection. It is the first part of the way of an event: from
// the API server to a batch of changes that is to be applied.
//
//	API server ──▶ reflector ──▶ sink ──▶ queue ──▶ apply (see applier)
//	               └─ goroutine of run ─┘       └─ goroutine while there are changes ─┘
//
// The queue decouples the two: while a batch is applied the reflector goes on
// reading, up to the limit of the queue. Beyond it, the sink blocks, and with it
// the connection to the server. An informer has one source, or one per namespace.
type source[T Object] struct {
	// namespace is the part of the cache that a list of this source states as a
	// whole; empty: all of it.
	namespace string
	log       *slog.Logger // names the namespace
	lw        reflector.ListerWatcher[T]
	reflector *reflector.Reflector[T]
	queue     *deltafifo.DeltaFIFO[T]

	work    func()         // applies what is queued; set by run
	working sync.WaitGroup // calls of it
	busyMu  sync.Mutex     // guards busy
	busy    bool           // whether there is a call

	store *indexer.Indexer[T]

	unreadable unreadable                         // received, and not in the cache
	recheck    func(keys ...types.NamespacedName) // has waits checked again; see progress
	// missing is the last 404 if the server has answered so for degradedGrace; else nil.
	missing atomic.Pointer[error]

	// How far the changes are part of the cache: listed once the first list is,
	// rv for what is applied, reached for what is published. See progress, which
	// guards them.
	rv, reached string
	listed      bool
	lists       int // that are part of the cache
	proof       proof
	// For a source that comes and goes, guarded by the informer's mu: whether it must not
	// begin any more, how to end it, and when it has ended.
	removed bool
	cancel  context.CancelFunc
	ended   chan struct{}

	// selected is what is read of a collection, as its Selection says; nil in a source of any
	// other kind.
	selected any
}

// proof is a list that was requested because a write is missing.
type proof struct {
	asked time.Time
	list  int // its number
}

// newSource returns a source that feeds store from lw. It makes no request before
// run. opts must have a name and a logger.
func newSource[T Object](namespace string, lw reflector.ListerWatcher[T], store *indexer.Indexer[T], recheck func(keys ...types.NamespacedName), opts *Options[T]) (*source[T], error) {
	s := &source[T]{namespace: namespace, log: opts.Logger, lw: lw, store: store, recheck: recheck}
	s.queue = deltafifo.New(deltafifo.Options[T]{KnownObjects: store, Limit: opts.QueueLimit})
	// Only then: with a single source the namespace says nothing.
	if namespace != "" {
		s.log = s.log.With("namespace", namespace)
		lw = inNamespace[T]{lw, namespace}
	}
	if opts.Transform != nil {
		lw = reflector.Transform(lw, opts.Transform)
	}
	ropts := opts.Reflector
	if ropts.Logger == nil {
		ropts.Logger = opts.Logger // the reflector names the namespace itself
	}
	ropts.Name = cmp.Or(ropts.Name, opts.Name)
	observe := ropts.OnStateChange
	ropts.OnStateChange = func(h reflector.Health) {
		s.noteMissing(h)
		if observe != nil {
			observe(h)
		}
	}
	var err error
	s.reflector, err = reflector.New[T](lw, s.sink(), ropts)
	return s, err
}

// degradedGrace is for how long a source may be degraded before Ready reports it.
// A server that restarts, or a watch that breaks, is back within it.
const degradedGrace = 30 * time.Second

// noteMissing notes whether the server answers 404, and ends the waits for deletions, which
// nothing reports then.
func (s *source[T]) noteMissing(h reflector.Health) {
	switch since := time.Since(h.DegradedSince); {
	case h.State == reflector.StateWatching || h.State == reflector.StatePolling:
		s.missing.Store(nil)
	case h.State == reflector.StateDegraded && h.LastErrorClass == reflector.ClassNotFound && since >= degradedGrace:
		s.missing.Store(&h.LastError)
		s.recheck()
	}
}

// errApplyExited is why an informer stops whose changes are not applied any more.
var errApplyExited = errors.New("a function that was called while changes were applied ended its goroutine (runtime.Goexit, as t.FailNow does); " +
	"Metrics and index functions must return")

// inNamespace is a source of one namespace, which it may not say itself: objects of another
// one belong to another source.
type inNamespace[T Object] struct {
	reflector.ListerWatcher[T]
	namespace string
}

func (s inNamespace[T]) Unwrap() any       { return s.ListerWatcher }
func (s inNamespace[T]) Namespace() string { return s.namespace }

// run reflects, and calls apply with each batch of changes, until ctx ends or the
// reflector fails for good. It is called once. It returns when apply has returned: what is queued is
// applied, unless ctx has ended.
func (s *source[T]) run(ctx context.Context, apply func(*source[T], deltafifo.Deltas[T])) error {
	reading, stop := context.WithCancel(ctx)
	defer stop()
	process := func(batch deltafifo.Batch[T]) error {
		apply(s, batch.Deltas)
		return nil
	}
	exited := false
	s.work = func() {
		defer s.working.Done()
		returned := false
		defer func() {
			if !returned { // runtime.Goexit, or a panic that ends the process
				exited = true
				s.queue.Close()
				stop() // nothing is read that cannot be applied
			}
		}()
		// If ctx has ended it stays busy: no other goroutine is to try.
		for s.pending() && s.queue.Pop(ctx, process) == nil {
		}
		returned = true
	}
	err := s.reflector.Run(reading)
	s.queue.Close()
	s.working.Wait()
	switch {
	case exited:
		return errApplyExited
	case errors.Is(err, context.Canceled):
		return nil
	}
	return err
}

// written has what was queued applied, unless the write failed. There is a goroutine while there
// is something to apply, and none in an idle informer.
func (s *source[T]) written(err error) error {
	if err != nil {
		return err
	}
	s.busyMu.Lock()
	defer s.busyMu.Unlock()
	if !s.busy && s.work != nil {
		s.busy = true
		s.working.Add(1)
		go s.work()
	}
	return nil
}

// pending reports whether something is queued. If not, the next write starts another goroutine:
// under the mutex, one of the two sees the other.
func (s *source[T]) pending() bool {
	s.busyMu.Lock()
	defer s.busyMu.Unlock()
	s.busy = s.queue.Len() > 0
	return s.busy
}

// sink is the source as the reflector sees it: the queue, and the cache behind it for what
// is known already. It implements [reflector.Sink], [reflector.Known] and audit.Audited.
type sink[T Object] source[T]

// sink returns what the reflector writes to.
func (s *source[T]) sink() *sink[T] { return (*sink[T])(s) }

// Add queues an object that is new.
func (s *sink[T]) Add(ctx context.Context, obj T) error {
	s.unreadable.queueObject(obj)
	return (*source[T])(s).written(s.queue.Add(ctx, obj))
}

// Update queues a new state of an object.
func (s *sink[T]) Update(ctx context.Context, obj T) error {
	s.unreadable.queueObject(obj)
	return (*source[T])(s).written(s.queue.Update(ctx, obj))
}

// Delete queues a deletion.
func (s *sink[T]) Delete(ctx context.Context, obj T) error {
	key := object.KeyOf(obj)
	if _, known := s.queue.Known(key); !known { // then nothing is queued
		s.Gone(key)
	}
	s.unreadable.queueObject(obj)
	return (*source[T])(s).written(s.queue.Delete(ctx, obj))
}

// Replace queues a list.
func (s *sink[T]) Replace(ctx context.Context, objs []T, resourceVersion string) error {
	s.unreadable.queueList(1)
	err := s.queue.Replace(ctx, objs, resourceVersion)
	if err != nil {
		s.unreadable.queueList(-1)
	}
	return (*source[T])(s).written(err)
}

// Unreadable notes the objects that are missing from the list that Replace states next, or from
// the events.
func (s *sink[T]) Unreadable(ofList bool, objs ...*reflector.ObjectError) {
	s.recheck(s.unreadable.add(ofList, objs)...)
}

// Gone notes that an object that is not in the cache was deleted.
func (s *sink[T]) Gone(key types.NamespacedName) {
	if s.unreadable.any.Load() {
		s.unreadable.remove(key)
		s.recheck(key)
	}
}

// Bookmark queues a version.
func (s *sink[T]) Bookmark(ctx context.Context, resourceVersion string) error {
	return (*source[T])(s).written(s.queue.Bookmark(ctx, resourceVersion))
}

// Known returns the newest version that was queued, and has perhaps not been applied yet: a
// relist that kept an older version would undo the change.
func (s *sink[T]) Known(key types.NamespacedName) (T, bool) { return s.queue.Known(key) }

// KnowsAny reports whether there is any object that Known may be asked for: none before a
// first list, as a rule, which is spared the look-ups.
func (s *sink[T]) KnowsAny() bool { return s.store.Snapshot().Len() > 0 }

// Contents returns what is in the cache of what this source states, for audits. It
// lags behind the queue, and audits allow for that.
func (s *sink[T]) Contents() (get func(types.NamespacedName) (metav1.Object, bool), all iter.Seq[metav1.Object]) {
	snap := s.store.Snapshot()
	get = func(key types.NamespacedName) (metav1.Object, bool) {
		obj, ok := snap.Get(key)
		return obj, ok
	}
	objs := snap.All()
	if s.namespace != "" {
		objs = snap.ByNamespace(s.namespace)
	}
	return get, func(yield func(metav1.Object) bool) {
		objs(func(obj T) bool { return yield(obj) })
	}
}

// selector describes the selectors of the source, if it says so.
func (s *source[T]) selector() string {
	if described, ok := reflector.As[interface{ Selector() string }](s.lw); ok {
		return described.Selector()
	}
	return ""
}

// whyUnlisted says why the first list is not part of the cache yet.
func (s *source[T]) whyUnlisted() error {
	h := s.reflector.Health()
	if h.LastError == nil {
		return fmt.Errorf("%sthe reflector is %s since %s", s.where(), h.State, h.Since.Format(time.TimeOnly))
	}
	return fmt.Errorf("%sthe reflector is %s after %d failures, the last one being: %w", s.where(), h.State, h.ConsecutiveFailures, h.LastError)
}

// where names the namespace in errors, if there is one source per namespace.
func (s *source[T]) where() string {
	if s.namespace == "" {
		return ""
	}
	return fmt.Sprintf("namespace %q: ", s.namespace)
}
