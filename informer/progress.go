package informer

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

var (
	// ErrStopped is returned, or wrapped, when an informer has stopped and what
	// was asked for can therefore not happen any more.
	ErrStopped = errors.New("informer: the informer has stopped; create another one")
	// ErrRunning is returned by a second Run, and by Edit during the first.
	ErrRunning = errors.New("informer: Run was called before; an informer runs once")
)

// progress is the one place that knows how far the cache has got: which sources
// have applied their first list, and up to which resourceVersion each of them is
// published. Everything about being synced is derived from it:
//
//	Run was called ────────▶ started  ─┐
//	first list of source A ▶ A.listed ─┼▶ synced() ──▶ first: Informer.Synced, HasSynced, Health
//	first list of source B ▶ B.listed ─┘     │
//	                                         └──▶ view.synced, noted at each point of the event log
//	                                                └──▶ Registration.Synced: the handler has got there
//
// An informer that has synced stays so. A source that is added later makes
// synced() false again, which concerns handlers that join after that.
//
// It is updated after the snapshot and the log: what a caller waits for is in the
// snapshot that it then finds.
//
// mu guards all fields. Sources, started, and listed and rv of each source change
// only with the applier's mutex held as well, so that the applier reads them
// without mu.
type progress[T Object] struct {
	mu        sync.Mutex
	sources   []*source[T]                 // replaced, never modified
	readers   atomic.Pointer[[]*source[T]] // the same, for a lookup that takes no lock
	selection Selection                    // of an informer of NewSelected, else nil
	// namespaces is what the sources that have listed cover, in an informer that reads
	// namespaces; else nil.
	namespaces coverage
	started    bool          // Run was called
	begin      time.Time     // when
	first      chan struct{} // closed by the first sync
	after      time.Duration // from begin to the close of first
	stopped    atomic.Bool   // nothing will change any more; written with mu held
	failure    error         // what ended the informer; nil if it was asked to end
	waiting    waiters[T]
	overdue    overdue // writes that are waited for
}

// overdue counts the writes that take long. The mutex of progress guards it.
type overdue struct {
	now    int
	total  uint64
	logged time.Time
}

// newProgress returns the progress of an informer without sources.
func newProgress[T Object]() *progress[T] {
	return &progress[T]{first: make(chan struct{})}
}

// start notes that Run was called. It returns false if it was called before.
func (p *progress[T]) start() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.started {
		return false
	}
	p.started, p.begin = true, time.Now()
	return true
}

// isStarted reports whether Run was called.
func (p *progress[T]) isStarted() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.started
}

// setSources replaces the list of sources. The applier's mutex must be held.
//
// The list is replaced, not modified, as current gives it to readers without a lock.
func (p *progress[T]) setSources(sources []*source[T]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sources = sources
	p.readers.Store(&sources)
	p.waiting.resort(p.sourceLocked)
	p.coverLocked()
}

// coverLocked works out which namespaces the cache covers.
func (p *progress[T]) coverLocked() {
	if p.namespaces == nil {
		return
	}
	listed := map[string]bool{}
	for _, s := range p.sources {
		listed[s.namespace] = s.listed
	}
	p.namespaces = func(obj metav1.Object) bool { return listed[obj.GetNamespace()] }
}

// current returns the sources.
func (p *progress[T]) current() []*source[T] {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sources
}

// setListed notes that the first list of s is part of the snapshot. It returns
// false if that was so before. The applier's mutex must be held.
//
// It is the difference between the origins InitialList and Relist.
func (p *progress[T]) setListed(s *source[T]) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := s.listed
	s.listed = true
	s.lists++
	if p.selection != nil && s.selected != nil {
		p.selection.Listed(s.selected)
	}
	p.coverLocked()
	return !before
}

// synced reports whether Run was called and the first list of each source is
// applied. Mu or the applier's mutex must be held.
func (p *progress[T]) synced() bool {
	unlisted := func(s *source[T]) bool { return !s.listed }
	if p.selection != nil {
		return p.started && p.selection.Missing() == nil
	}
	return p.started && !slices.ContainsFunc(p.sources, unlisted) // before Run, no sources mean nothing
}

// covered returns what the snapshot has of the collection: that of the parts whose first
// list is applied; nil is all. The applier's mutex must be held.
func (p *progress[T]) covered() coverage {
	if p.selection != nil {
		return p.selection.Covers()
	}
	return p.namespaces
}

// version returns how far the cache as a whole is applied: the least version of
// all sources. The applier's mutex must be held.
//
// The least, because a snapshot claims to contain everything up to its version. While
// a source has not listed, its version is empty, and so is that of the cache.
func (p *progress[T]) version() string {
	if len(p.sources) == 0 {
		return ""
	}
	rv := p.sources[0].rv
	for _, s := range p.sources[1:] {
		if !atLeast(s.rv, rv) {
			rv = s.rv
		}
	}
	return rv
}

// publish notes that the applied changes are in the snapshot and the log, and ends the waits for
// them. Events yields the key of each event and the state that it leads to, if any; all is whether
// other objects may have changed too, as after a list. First is whether the informer has
// synced for the first time. The applier's mutex must be held. Without waiters it costs a lock.
func (p *progress[T]) publish(synced, all bool, events iter.Seq2[types.NamespacedName, T]) (first bool) {
	p.mu.Lock()
	check := map[*waiter]struct{}(nil)
	if all = all || !isClosed(p.first); !all && len(p.waiting.all) > 0 {
		check = map[*waiter]struct{}{}
	}
	if len(p.waiting.all) > 0 {
		p.waiting.affected(events, check)
	}
	for _, s := range p.sources {
		// From here on a wait for this version ends: it is what readers find.
		s.reached = s.rv
		if check != nil {
			p.waiting.reached(s.namespace, s.reached, check)
		}
	}
	// Closed at most once, even if a source that is added later makes synced false again.
	if first = synced && !isClosed(p.first); first {
		p.after = time.Since(p.begin)
		close(p.first)
	}
	if all {
		check = p.waiting.all
	}
	p.endMetAndUnlock(check)
	return first
}

// recheck ends the waits whose condition is met, or cannot be met, without a change of the cache:
// the waits for these keys, or all if there are none.
func (p *progress[T]) recheck(keys ...types.NamespacedName) {
	p.mu.Lock()
	check := p.waiting.all
	if len(keys) > 0 {
		check = map[*waiter]struct{}{}
		for _, key := range keys {
			maps.Copy(check, p.waiting.keys[key])
		}
	}
	p.endMetAndUnlock(check)
}

// endMetAndUnlock removes the waits of check whose condition is met, or cannot be met, releases mu,
// and ends them.
func (p *progress[T]) endMetAndUnlock(check map[*waiter]struct{}) {
	var ended []func()
	// Each condition is checked once per batch. Conditions take no lock, because mu is
	// held, and are cheap: a look at a version, and at one object of the snapshot.
	for w := range check {
		if met, err := w.condition(); met || err != nil {
			ended = append(ended, func() { w.ended(err) })
			p.waiting.remove(w)
		}
	}
	p.mu.Unlock()
	// What they call may register another wait, which takes mu.
	for _, end := range ended {
		end()
	}
}

// stop ends all waits: nothing will change any more, because of failure unless that is
// nil. It is called once.
func (p *progress[T]) stop(failure error) {
	p.mu.Lock()
	// With mu held: a wait is either registered before this, and ended below, or finds
	// it set. None can slip through in between.
	p.stopped.Store(true)
	p.failure = failure
	ended := p.waiting.all
	p.waiting = waiters[T]{}
	p.mu.Unlock()
	for w := range ended {
		w.ended(ErrStopped)
	}
}

// failed returns what ended the informer, or nil: it was asked to end, or has not ended.
func (p *progress[T]) failed() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failure
}

// readerLocked returns the source that reads a namespace; none and no error if there
// will be one soon; or why there is none.
func (p *progress[T]) readerLocked(namespace string) (*source[T], error) {
	s := p.sourceLocked(namespace)
	switch {
	case p.selection != nil:
		return s, p.selection.Reads(nil)
	case s != nil:
		return s, nil
	}
	return nil, fmt.Errorf("it does not read namespace %q; add it with AddNamespace", namespace)
}

// reads reports whether a source reads an object, or will. The applier's mutex must be held.
func (p *progress[T]) reads(obj metav1.Object) bool {
	if p.selection != nil {
		return p.selection.Reads(obj) == nil
	}
	return p.sourceLocked(obj.GetNamespace()) != nil
}

// source returns the source that reads a namespace, or nil. It takes no lock.
func (p *progress[T]) source(namespace string) *source[T] {
	if sources := p.readers.Load(); sources != nil {
		return sourceOf(*sources, namespace)
	}
	return nil
}

// sourceLocked returns the source that reads a namespace, or nil.
func (p *progress[T]) sourceLocked(namespace string) *source[T] {
	return sourceOf(p.sources, namespace)
}

// sourceOf returns the source that reads a namespace, or nil. A source without a namespace reads
// all of them.
func sourceOf[T Object](sources []*source[T], namespace string) *source[T] {
	for _, s := range sources {
		if s.namespace == "" || s.namespace == namespace {
			return s
		}
	}
	return nil
}

// unlisted says which first lists are not applied yet, and why; nil if all are.
func (p *progress[T]) unlisted() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var whys []error
	if p.selection != nil {
		if why := p.selection.Missing(); why != nil {
			whys = append(whys, why)
		}
	}
	for _, s := range p.sources {
		if !s.listed {
			// Health of the reflector takes its own lock, which never waits for mu.
			whys = append(whys, s.whyUnlisted())
		}
	}
	if p.stopped.Load() && len(whys) > 0 {
		whys = append(whys, ErrStopped)
	}
	return errors.Join(whys...)
}

// register makes w wait, unless its condition is met or cannot be met already:
// then it reports that, and ended is never called.
func (p *progress[T]) register(w *waiter) (met bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	// Checked with mu held, so that no publish comes between the check and the entry
	// in waiting: a condition that becomes true there would be missed.
	if met, err = w.condition(); met || err != nil {
		return met, err
	}
	// After the check: what the cache contains already can be waited for even then.
	if p.stopped.Load() {
		return false, ErrStopped
	}
	p.waiting.add(w, p.sourceLocked(w.key.Namespace))
	return false, nil
}

// remove ends the waiting of w. A call of its ended function may be running.
// So ended must tolerate a call after it; the one of wait writes to a buffered channel.
func (p *progress[T]) remove(w *waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting.remove(w)
}

// wait blocks until condition is met or cannot be met any more, or ctx is done. If the key has a
// name, the condition depends on the object with that key alone.
func (p *progress[T]) wait(ctx context.Context, key types.NamespacedName, condition func() (bool, error)) error {
	return p.waitFor(ctx, &waiter{key: key, condition: condition})
}

// waitFor blocks until the condition of w is met or cannot be met any more, or ctx ends.
func (p *progress[T]) waitFor(ctx context.Context, w *waiter) error {
	// Room for one error: the goroutine that publishes must not block on a caller that
	// has left because of its context.
	ended := make(chan error, 1)
	w.ended = func(err error) { ended <- err }
	if met, err := p.register(w); met || err != nil {
		return err
	}
	defer p.remove(w)
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// isClosed reports whether c, on which nothing is sent, is closed.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
