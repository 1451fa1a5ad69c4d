package informer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/deltafifo"
	"github.com/informerkit/informerkit/reflector"
)

// source feeds the cache from one collection: a reflector, and the queue of
// changes between it and whoever applies them. An informer has one source, or
// one per namespace.
type source[T Object] struct {
	// namespace is the part of the cache that a list of this source states as a
	// whole; empty: all of it.
	namespace string
	log       *slog.Logger // names it
	lw        reflector.ListerWatcher[T]
	reflector *reflector.Reflector[T]
	queue     *deltafifo.BatchFIFO[T]
	sink      *sink[T]

	// For a source that comes and goes, guarded by the informer's mu: how to end
	// it, when it has ended, and whether it is not to begin any more.
	cancel  context.CancelFunc
	ended   chan struct{}
	removed bool

	position // how far its changes are applied; guarded by the informer's applying mutex

	reached position // how far they are published; guarded by the informer's progress
}

func newSource[T Object](inf *Informer[T], namespace string, lw reflector.ListerWatcher[T]) (*source[T], error) {
	s := &source[T]{
		namespace: namespace,
		log:       inf.log,
		lw:        lw,
		queue:     deltafifo.NewBatch[T](deltafifo.BatchOptions{Limit: inf.opts.QueueLimit}),
	}
	if namespace != "" {
		s.log = s.log.With("namespace", namespace)
	}
	s.sink = &sink[T]{BatchFIFO: s.queue, inf: inf}
	s.sink.drained.L = &s.sink.mu
	if inf.opts.Transform != nil {
		lw = reflector.Transform(lw, inf.opts.Transform)
	}
	opts := inf.opts.Reflector
	if opts.Logger == nil {
		opts.Logger = s.log
	}
	if opts.Name == "" {
		opts.Name = inf.name
	}
	r, err := reflector.New[T](lw, s.sink, opts)
	s.reflector = r
	return s, err
}

// empty states that there are no objects. It is for the goroutine of the
// reflector, like the methods of the sink.
func (s *source[T]) empty(ctx context.Context) error { return s.sink.Replace(ctx, nil, "") }

// run reflects and applies until ctx ends.
func (s *source[T]) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		err := s.reflector.Run(ctx)
		s.queue.Close() // what is queued is applied, and then PopBatch returns
		ended <- err
	}()
	process := func(batch []deltafifo.Delta[T]) error {
		s.sink.inf.apply(s, batch)
		s.sink.applied(len(batch))
		return nil
	}
	for {
		if err := s.queue.PopBatch(ctx, process); err != nil {
			break
		}
	}
	cancel()
	s.sink.end()
	err := <-ended
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	return err
}

// sink is what the reflector writes to: the queue, and the cache behind it for
// what is known already.
type sink[T Object] struct {
	*deltafifo.BatchFIFO[T]
	inf *Informer[T]

	pending atomic.Int64 // changes that were queued and are not applied
	mu      sync.Mutex   // held to look at pending and wait
	drained sync.Cond
	over    bool
}

// applied counts changes that are not pending any more.
func (s *sink[T]) applied(n int) {
	if s.pending.Add(-int64(n)) == 0 {
		s.mu.Lock()
		s.drained.Broadcast()
		s.mu.Unlock()
	}
}

// end lets go of a reflector that waits in Known.
func (s *sink[T]) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	s.drained.Broadcast()
}

// queued takes back what was counted before a write, if that has failed.
func (s *sink[T]) queued(err error) error {
	if err != nil {
		s.applied(1)
	}
	return err
}

// Add, Update, Delete, Replace and Bookmark make a [reflector.Sink].

func (s *sink[T]) Add(ctx context.Context, obj T) error {
	s.pending.Add(1)
	return s.queued(s.BatchFIFO.Add(ctx, obj))
}

func (s *sink[T]) Update(ctx context.Context, obj T) error {
	s.pending.Add(1)
	return s.queued(s.BatchFIFO.Update(ctx, obj))
}

func (s *sink[T]) Delete(ctx context.Context, obj T) error {
	s.pending.Add(1)
	return s.queued(s.BatchFIFO.Delete(ctx, obj))
}

func (s *sink[T]) Replace(ctx context.Context, objs []T, rv string) error {
	s.pending.Add(1)
	return s.queued(s.BatchFIFO.Replace(ctx, objs, rv))
}

func (s *sink[T]) Bookmark(ctx context.Context, rv string) error {
	s.pending.Add(1)
	return s.queued(s.BatchFIFO.Bookmark(ctx, rv))
}

// Known makes a [reflector.Known]. The cache lags behind the queue, so it waits
// until everything queued is applied: else a relist could bring back the state
// before a queued change. Nothing is queued in the meantime, as the reflector,
// which calls this, is the only producer; so this waits once per list.
func (s *sink[T]) Known(key types.NamespacedName) (T, bool) {
	if s.pending.Load() > 0 {
		s.mu.Lock()
		for s.pending.Load() > 0 && !s.over {
			s.drained.Wait()
		}
		s.mu.Unlock()
	}
	return s.inf.store.Snapshot().Get(key)
}

// unsynced returns why the first list is not part of the published cache yet, or
// nil if it is. It is called with the mu of the informer's progress held.
func (s *source[T]) unsynced() error {
	if s.reached.listed {
		return nil
	}
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
