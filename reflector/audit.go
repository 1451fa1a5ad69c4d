package reflector

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/internal/object"
	"github.com/informerkit/informerkit/reflector/internal/wire"
)

// A watch delivers what changes after a resourceVersion. It cannot say that this
// version belongs to another history: that of an etcd that was restored from a backup
// and has reached the version again, or of an aggregated API server that accepts any
// version and resumes nothing. The sink then stays wrong without any error. An audit
// compares the metadata of the collection with what the sink has.
//
//	      every AuditInterval             10 s later
//	watch ───▶ list metadata ── differs? ──▶ list metadata ── differs still? ──▶ end the watch:
//	             │ equal                       │ no: it was on its way           read everything
//	             ▼                             ▼
//	           done                          done
//
// While the pages are read the collection goes on changing, so most differences are
// changes on their way to the sink, or newer than the list. No version is compared by
// its number: after a restore the newer version is the wrong one. A difference counts
// if both sides still have the same two versions when it is looked at again.
//
// The audit runs beside the watch and decides nothing but that. The repair is a list
// like any other, in the state machine's own order.

const (
	// auditSettle is how long both sides of a difference must stay as they are. A watch
	// delivers a change within a second.
	auditSettle = 10 * time.Second
	// auditPage is the number of objects in a page, and auditPause the wait before the
	// next one.
	auditPage  = 1000
	auditPause = 100 * time.Millisecond
)

// auditor is what a reflector knows of its audits. It belongs to the goroutine of the
// audit while there is one, and else to that of Run.
type auditor[T Object] struct {
	source ListerWatcher[*metav1.PartialObjectMetadata]
	sink   Audited[T]
	every  time.Duration
	due    time.Time
	// suspects are the differences that the first look has found.
	suspects differences
	// found are those for which the collection is read again, and lasting those for
	// which it was. To read it once more for the same would not help.
	found, lasting differences
}

// differences are objects of which the sink has not what the server has.
type differences map[types.NamespacedName]difference

// difference is what both sides have of an object.
type difference struct{ server, sink versionOf }

// versionOf is a version of an object; the zero value is none.
type versionOf struct {
	uid types.UID
	rv  string
}

// versionIn returns the version of obj, if there is one.
func versionIn[T Object](obj T, ok bool) versionOf {
	if !ok || object.IsNil(obj) {
		return versionOf{}
	}
	return versionOf{obj.GetUID(), obj.GetResourceVersion()}
}

// in returns the differences that are the same in both.
func (d differences) in(other differences) differences {
	out := differences{}
	for key, diff := range d {
		if other[key] == diff {
			out[key] = diff
		}
	}
	return out
}

// without returns the differences that are not the same in other.
func (d differences) without(other differences) differences {
	out := differences{}
	for key, diff := range d {
		if other[key] != diff {
			out[key] = diff
		}
	}
	return out
}

// auditError ends a watch because the sink differs from the server.
type auditError struct {
	n     int
	first types.NamespacedName
}

func (e *auditError) Error() string {
	return fmt.Sprintf("an audit found %d objects that differ from the server's, such as %s, and no event explains it; was etcd restored from a backup, or does the server resume watches without their events?", e.n, keyString(e.first))
}

// isAudit reports whether a watch was ended by an audit.
func isAudit(err error) bool {
	var found *auditError
	return errors.As(err, &found)
}

// metadataLister is what a ListerWatcher implements for audits.
type metadataLister interface {
	// Metadata returns a source of the metadata of the same collection.
	Metadata() (ListerWatcher[*metav1.PartialObjectMetadata], error)
}

// metadataOf returns a source of the metadata of what lw reads, or an error if lw
// cannot list it.
func metadataOf[T Object](lw ListerWatcher[T]) (ListerWatcher[*metav1.PartialObjectMetadata], error) {
	if w, ok := lw.(interface {
		metadata() (ListerWatcher[*metav1.PartialObjectMetadata], error)
	}); ok {
		return w.metadata()
	}
	if m, ok := lw.(metadataLister); ok {
		return m.Metadata()
	}
	return nil, fmt.Errorf("reflector: Options.AuditInterval is set, but the source, a %T, cannot list metadata; use NewResource, or leave AuditInterval 0", lw)
}

// newAuditor returns the auditor of a reflector, or nil if the options do not ask for
// audits.
func newAuditor[T Object](lw ListerWatcher[T], sink Sink[T], every time.Duration) (*auditor[T], error) {
	if every == 0 {
		return nil, nil
	}
	audited, ok := sink.(Audited[T])
	if !ok {
		return nil, fmt.Errorf("reflector: Options.AuditInterval is set, but the sink, a %T, does not implement Audited: there is nothing to compare with", sink)
	}
	source, err := metadataOf(lw)
	if err != nil {
		return nil, err
	}
	return &auditor[T]{source: source, sink: audited, every: every}, nil
}

// schedule plans the next audit. All clients of a server that was restarted would
// otherwise audit at once.
func (a *auditor[T]) schedule() {
	a.suspects = nil
	a.due = time.Now().Add(a.every - a.every/20 + time.Duration(rand.Int64N(int64(a.every)/10+1)))
}

// audit is an audit beside a watch.
type audit struct {
	cancel context.CancelFunc
	done   chan struct{}
	found  error // to be read after done
}

// auditBeside audits beside a watch, whenever it is time.
func (r *Reflector[T]) auditBeside(live *liveStream[T]) *audit {
	if r.audits == nil {
		return nil
	}
	if r.audits.due.IsZero() {
		r.audits.schedule()
	}
	ctx, cancel := context.WithCancel(r.charged(live.ctx))
	a := &audit{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(a.done)
		for ctx.Err() == nil {
			sleep(ctx, time.Until(r.audits.due))
			// Only while more than half of the allowance is left: watches come first.
			if d := r.allowance.wait(time.Now(), burst/2+1); d > 0 {
				sleep(ctx, d)
				continue
			}
			if a.found = r.look(ctx); a.found != nil {
				live.cancel(a.found)
				return
			}
		}
	}()
	return a
}

// finish ends the audit beside a watch, and returns why the collection must be read
// again, if it must.
func (a *audit) finish() error {
	if a == nil {
		return nil
	}
	a.cancel()
	<-a.done
	return a.found
}

// look compares once. It returns an error if the collection must be read again.
func (r *Reflector[T]) look(ctx context.Context) error {
	if ctx.Err() != nil {
		return nil
	}
	a := r.audits
	diff, n, err := r.compare(ctx)
	switch {
	case ctx.Err() != nil:
		// The watch has ended. The next one begins with what was not finished.
		return nil
	case err != nil:
		a.schedule()
		r.status.note(func(t *trouble) { t.Audit.LastError, t.Audit.LastErrorTime = err, time.Now() })
		r.logger().Warn("audit failed", "err", err, "next", time.Until(a.due))
		return nil
	}
	a.lasting = a.lasting.in(diff)
	fresh := diff.without(a.lasting)
	if a.suspects == nil && len(fresh) > 0 {
		a.suspects, a.due = fresh, time.Now().Add(auditSettle)
		return nil
	}
	fresh = fresh.in(a.suspects)
	a.schedule()
	r.status.note(func(t *trouble) {
		t.Audit.Last, t.Audit.Objects, t.Audit.Lasting = time.Now(), n, len(a.lasting)
		t.Audit.Audits++
		t.Audit.count(fresh)
	})
	if a.found = fresh; len(fresh) == 0 {
		return nil
	}
	var first types.NamespacedName
	for key := range fresh {
		if first.Name == "" || keyString(key) < keyString(first) {
			first = key
		}
	}
	return &auditError{len(fresh), first}
}

// compare lists the metadata and returns what differs from what the sink has at about
// that time, and how many objects the server has.
func (r *Reflector[T]) compare(ctx context.Context) (diff differences, n int, err error) {
	diff = differences{}
	quarantined := map[types.NamespacedName]bool{}
	for _, oe := range r.Health().Quarantine {
		quarantined[oe.Key] = true // known to differ, and read again anyway
	}
	// Hashes: two names with the same one could only hide an object that should not be.
	seen, unnamed := map[uint64]struct{}{}, false
	opts := metav1.ListOptions{Limit: auditPage} // of the newest state, at one version
	for used := map[string]bool{}; ; {
		have, _ := r.audits.sink.Contents()
		before := len(seen)
		meta, err := r.metadataPage(ctx, have, opts, func(key types.NamespacedName, server versionOf, equal bool) {
			unnamed = unnamed || key.Name == ""
			seen[maphash.Comparable(hashSeed, key)] = struct{}{}
			if equal || quarantined[key] {
				return
			}
			if d := (difference{server, versionIn(have(key))}); d.server != d.sink {
				diff[key] = d
			}
		})
		if err != nil || meta.Continue == "" {
			if err == nil && !unnamed {
				r.extras(diff, seen, quarantined)
			}
			return diff, len(seen), err
		}
		if used[meta.Continue] || len(seen) == before {
			return nil, 0, &wire.DecodeError{Err: errors.New("the server answered with a page of metadata without new objects and with a continue token: it does not support limit and continue")}
		}
		used[meta.Continue] = true
		opts.Continue = meta.Continue
		sleep(ctx, auditPause)
		for len(seen)-before < auditPage/2 && ctx.Err() == nil {
			// Pages that are nearly empty may never end: they are paced.
			d := r.allowance.wait(time.Now(), burst/2+1)
			if d == 0 {
				break
			}
			sleep(ctx, d)
		}
	}
}

// extras adds what the sink has and the server has not.
func (r *Reflector[T]) extras(diff differences, seen map[uint64]struct{}, quarantined map[types.NamespacedName]bool) {
	_, all := r.audits.sink.Contents()
	for obj := range all {
		key := object.KeyOf(obj)
		if _, ok := seen[maphash.Comparable(hashSeed, key)]; !ok && !quarantined[key] {
			diff[key] = difference{sink: versionIn(obj, true)}
		}
	}
}

// metadataPage lists one page. each is called for every object: with equal for those
// that the sink has in this version, which are not even decoded, and with no version
// for those whose metadata cannot be read.
func (r *Reflector[T]) metadataPage(ctx context.Context, have func(types.NamespacedName) (T, bool), opts metav1.ListOptions, each func(key types.NamespacedName, server versionOf, equal bool)) (metav1.ListMeta, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watchdog := newDeadline(cancel)
	defer watchdog.stop()
	watchdog.set(r.opts.Timeouts.Answer, errNoAnswer)
	if opts.Continue == "" {
		r.allowance.charge()
	}
	r.status.update(func(h *routine) { h.Lists++ })
	ctx = wire.WithProgress(ctx, func() { watchdog.extend(time.Now()) })
	ctx = withUnchanged(ctx, have)
	meta, err := r.audits.source.List(ctx, opts, func(obj *metav1.PartialObjectMetadata, err error) error {
		var oe *ObjectError
		old, same := unchangedObject[T](err)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case same:
			each(object.KeyOf(old), versionOf{}, true)
		case errors.As(err, &oe):
			each(oe.Key, versionOf{}, true) // nothing is known to differ
		case err != nil:
			return err
		default:
			each(object.KeyOf(obj), versionIn(obj, true), false)
		}
		return nil
	})
	return meta, because(ctx, err)
}

// auditOf notes, before a collection is given to the sink, which of the differences
// that an audit has found it removes. The result is called when the sink has it.
func (r *Reflector[T]) auditOf(objs []T) (done func()) {
	a := r.audits
	if a == nil || len(a.found) == 0 {
		return func() {}
	}
	now := differences{}
	for _, obj := range objs {
		if key := object.KeyOf(obj); a.found[key] != (difference{}) {
			now[key] = difference{server: versionIn(obj, true)}
		}
	}
	return func() {
		repaired := 0
		for key, d := range a.found {
			if now[key].server != d.sink {
				repaired++
			}
		}
		// Those that the next audit meets unchanged last; it forgets the others.
		maps.Copy(a.lasting, a.found)
		a.found = nil
		r.status.note(func(t *trouble) { t.Audit.Repaired += repaired })
	}
}

// noteAudit is called when an audit has ended a watch. The server's history may be
// another one, in which the same version is another state, so nothing that is known
// is kept without decoding it.
func (r *Reflector[T]) noteAudit(err error) {
	r.pos.lost, r.pos.rewritten = true, true
	r.status.note(func(t *trouble) { t.LastError, t.LastErrorClass, t.LastErrorTime = err, ClassAudit, time.Now() })
	keys := make([]string, 0, len(r.audits.found))
	for key := range r.audits.found {
		keys = append(keys, keyString(key))
	}
	slices.Sort(keys)
	r.warn("audit", "reading the collection again", "err", err, "objects", keys[:min(len(keys), maxNamed)])
}

// AuditHealth says what the audits of a [Reflector] have found; see
// [Options].AuditInterval.
type AuditHealth struct {
	// Interval is that of the options; 0 if there are no audits.
	Interval time.Duration
	// Last is when the last audit was completed, and Audits how many were. Objects is
	// how many objects the server had in the last one.
	Last    time.Time
	Audits  int
	Objects int
	// Missing, Extra and Stale count what the audits have found: objects that only the
	// server had, that only the sink had, and of which the two had different versions.
	// Repaired is how many of those the lists that followed added to the sink, changed
	// in it or removed from it.
	Missing, Extra, Stale, Repaired int
	// Lasting is how many of the differences of the last audit the audit before it had
	// found as well, although the whole collection was read again in between. It is 0 in
	// a program that works. Else a list does not mend what the server and the sink
	// disagree about: the sink drops or changes what it gets, or something else writes
	// to it too.
	Lasting int
	// LastError is the error of the most recent audit that failed, at LastErrorTime. The
	// next one is made an interval later.
	LastError     error
	LastErrorTime time.Time
}

// Found returns how many differences were found.
func (h AuditHealth) Found() int { return h.Missing + h.Extra + h.Stale }

// count adds differences.
func (h *AuditHealth) count(found differences) {
	for _, d := range found {
		switch {
		case d.sink == versionOf{}:
			h.Missing++
		case d.server == versionOf{}:
			h.Extra++
		default:
			h.Stale++
		}
	}
}
