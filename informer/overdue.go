package informer

import (
	"errors"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/internal/object"
	"github.com/informerkit/informerkit/reflector"
	"github.com/informerkit/informerkit/workqueue"
)

// overdueAfter is how long a write may be missing from the cache before its source has to prove itself.
const overdueAfter = time.Minute

// Seen returns the condition that the cache contains a write, as [Informer.WaitForObject]
// defines it, for a caller that does not want to block: it occupies no goroutine.
// With it, a reconcile that has written is not repeated before its own write is in the
// cache, and no worker waits for that:
//
//	return workqueue.Result{Until: pods.Seen(created), ParkTimeout: -1}, nil
//
// There is no deadline. The condition is also met when the cache cannot show the write:
//
//   - The informer has stopped, or does not read the namespace (any more).
//   - A list that has the write, or was requested after it, does not lead to it: the object does not match the
//     selectors, or is quarantined, or a Transform refuses it.
//   - The server has refused the list for a reason that only a change of the configuration ends, such as a missing role.
//     A server that cannot be reached is waited for.
//
// After a minute, and each minute after that, a wait is logged and counted in [Health].OverdueWrites. If nothing has
// arrived since the write, the watch is not trusted any more: the collection is read again. So is that of
// versions that cannot be compared, and of a deletion.
//
// For an object without a resourceVersion it logs a warning and returns nil, which is no condition.
// Met is called by the goroutine that applies changes: it must not block.
func (inf *Informer[T]) Seen(written metav1.Object) workqueue.Condition {
	seen, err := inf.seenCondition("Seen", written)
	if err != nil {
		inf.log.Warn("a write cannot be waited for", "error", err)
		return nil
	}
	what := strings.TrimPrefix(object.KeyOf(written).String(), "/") + " at version " + written.GetResourceVersion()
	version := written.GetResourceVersion()
	if ended(written) {
		what, version = "the deletion of "+strings.TrimPrefix(object.KeyOf(written).String(), "/"), ""
	}
	return &seenWrite[T]{informer: inf, waiter: seen, key: object.KeyOf(written), version: version, what: what, since: time.Now()}
}

// seenWrite is what Seen returns.
type seenWrite[T Object] struct {
	informer *Informer[T]
	waiter   *waiter
	key      types.NamespacedName
	version  string // empty for a deletion
	what     string
	since    time.Time
}

// seenWait is one registration of a seenWrite. The mutex of progress guards it.
type seenWait[T Object] struct {
	*seenWrite[T]
	waiter waiter
	timer  *time.Timer // when the write is overdue (again)
	late   bool        // it is counted
	ended  bool
	source *source[T] // that gave the proof
	list   int        // of source, which was requested after the write; 0 if none was
	// refused is whether the server refuses the lists that would show the write.
	refused bool
}

// String describes the condition for people.
func (s *seenWrite[T]) String() string { return "informer " + s.informer.name + " has seen " + s.what }

// Register ignores the error with which ended is called for a stop: the item is processed either way.
func (s *seenWrite[T]) Register(met func()) (cancel func()) {
	p := s.informer.applier.progress
	w := &seenWait[T]{seenWrite: s}
	w.waiter = waiter{key: s.waiter.key, version: s.waiter.version, condition: w.condition, see: s.waiter.see, ended: func(error) { w.end(); met() }}
	// Set with the mutex, as the timer may fire before AfterFunc has returned.
	p.mu.Lock()
	w.timer = time.AfterFunc(overdueAfter, w.overdue)
	p.mu.Unlock()
	if ended, err := p.register(&w.waiter); ended || err != nil {
		w.end()
		met()
		return nil
	}
	return func() {
		p.remove(&w.waiter)
		w.end()
	}
}

// end stops the timer.
func (w *seenWait[T]) end() {
	p := w.informer.applier.progress
	p.mu.Lock()
	defer p.mu.Unlock()
	w.timer.Stop()
	if w.late && !w.ended {
		p.overdue.now--
	}
	w.ended = true
}

// condition is whether the write is in the cache, or cannot get there.
func (w *seenWait[T]) condition() (bool, error) {
	met, err := w.seenWrite.waiter.condition()
	if met || err != nil && !errors.Is(err, ErrUnreadable) {
		return true, nil
	}
	s := w.informer.applier.progress.sourceLocked(w.key.Namespace)
	if s == nil {
		return false, nil
	}
	if err != nil { // the object is in the quarantine, or one whose name is not known
		if oe := s.unreadable.find(w.key); oe != nil && oe.Key != w.key && s.listed && reached(s.reached, w.version) {
			return true, nil
		}
		if version, list := s.unreadable.inList(w.key); w.version != "" && list > 0 && s.lists >= list && reached(version, w.version) {
			return true, nil
		}
	}
	return w.refused || w.list > 0 && w.source == s && s.lists >= w.list, nil
}

// overdue is called when the write is missing for a minute, and then each minute.
func (w *seenWait[T]) overdue() {
	p, now := w.informer.applier.progress, time.Now()
	p.mu.Lock()
	if w.ended {
		p.mu.Unlock()
		return
	}
	if !w.late {
		w.late = true
		p.overdue.now++
		p.overdue.total++
	}
	log := now.Sub(p.overdue.logged) >= overdueAfter || p.overdue.logged.IsZero()
	if log {
		p.overdue.logged = now
	}
	writes := p.overdue.now
	s := p.sourceLocked(w.key.Namespace)
	if s != nil && s.listed && !w.follows(s) {
		if list := s.prove(w.since); list > 0 {
			w.source, w.list = s, list
		}
	}
	w.refused = s != nil && s.refused(w.since)
	w.timer.Reset(overdueAfter)
	p.mu.Unlock()
	if log {
		w.informer.log.Warn("a write is missing from the cache for more than a minute; what has written it waits", "object", w.what,
			"waited", time.Since(w.since).Round(time.Second), "waiting", writes)
	}
	p.recheck(w.key)
}

// follows reports whether the watch is alive, and has still to get to the write.
func (w *seenWait[T]) follows(s *source[T]) bool {
	return w.version != "" && isNumber(w.version) && !reached(s.reached, w.version) && s.unreadable.find(w.key) == nil && s.reflector.Health().LastEvent.After(w.since)
}

// prove has the collection read again, unless that was requested after since, and returns the number of that list; 0 if
// none can be requested now. Waits share a list.
func (s *source[T]) prove(since time.Time) int {
	if !s.proof.asked.After(since) {
		s.unreadable.mu.Lock()
		defer s.unreadable.mu.Unlock()
		list := s.unreadable.queued + 1 // as long as a watch is followed, no list is queued
		if !s.reflector.Relist("a write has not arrived for more than a minute") {
			return 0
		}
		s.proof = proof{time.Now(), list}
	}
	return s.proof.list
}

// refused reports whether the server has refused a list since then, as it will refuse the next.
func (s *source[T]) refused(since time.Time) bool {
	h := s.reflector.Health()
	switch h.LastErrorClass {
	case reflector.ClassUnauthorized, reflector.ClassForbidden, reflector.ClassNotFound, reflector.ClassDecode, reflector.ClassTransform, "rejected", "not an API server", "wrong kind":
		// After a failed watch the collection is listed: the second failure in a row is that of a list.
		return h.State == reflector.StateDegraded && h.ConsecutiveFailures > 1 && h.LastErrorTime.After(since)
	}
	return false
}
