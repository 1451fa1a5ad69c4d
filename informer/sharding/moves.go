package sharding

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxWrites is how many records are written at a time.
const maxWrites = 16

// slot is what a replica knows of a part beyond the view. The record, as the view
// shows it, and whether work is running make the state:
//
//	record: free ──take──▶ mine ──────────────▶ mine ──────────────▶ mine ──give up──▶ free
//	work:   none           none ──begin──▶ running ──drain──▶ none
//	                                          │
//	                        record not mine, or session ended: cancel
type slot struct {
	work *work
	// busy is while a write is in flight; wrote is set when it has succeeded, until the view
	// shows another version than based. taking is what the write is for.
	busy, wrote, taking bool
	seen                string // the version that the view has shown last
	based               string
	// doubt is the version that a write giving the part up was based on. If the answer was
	// lost, the part may be free, or another's, while the view still shows this version.
	doubt     string
	notBefore time.Time // of the next write
	failures  int       // of Work, in a row
	restart   time.Time // of Work, not before
	drained   time.Duration
	// counted is whether the part was counted as taken, and neither as given up nor as lost since. A
	// record that was written may be given up before Work was called: others have joined meanwhile.
	counted bool
}

// reset forgets the writes of a session that has ended. What was in flight has no effect
// on another session: if it took the part, then for the old one.
func (s *slot) reset() { s.busy, s.wrote, s.notBefore = false, false, time.Time{} }

// work is a call of Options.Work.
type work struct {
	part   *Part
	phase  phase
	since  time.Time               // of the phase
	cancel context.CancelCauseFunc // the context of the call
	lost   context.CancelCauseFunc // Part.Context, and with it the other
}

// phase is how far a call of Work is.
type phase uint8

const (
	running  phase = iota
	draining       // asked to return
	overdue        // cancelled, as it has not returned in time
	lost           // cancelled, as the part is lost
)

// working reports whether any work is running.
func (r *Replica) working() bool {
	return slices.ContainsFunc(r.slots, func(s slot) bool { return s.work != nil })
}

// busy reports whether a record is being written.
func (r *Replica) busy() bool {
	return slices.ContainsFunc(r.slots, func(s slot) bool { return s.busy || s.wrote })
}

// quota returns how many parts this replica is to have.
func (r *Replica) quota(v *view) int {
	if r.leaving {
		return 0
	}
	return quotas(v.holders(), v.replicas())[r.session.id] // 0 until the others count this replica
}

// moveParts takes parts and gives them up, until this replica has those that it is to
// have.
func (r *Replica) moveParts(v *view, now time.Time) {
	id := r.session.id
	holders := v.holders()
	r.stuck.wants, r.stuck.due = false, ""
	for i := range r.slots {
		s := &r.slots[i]
		if version := v.version(i); version != s.seen {
			r.stuck.written(now, s.busy || s.wrote)
			s.seen = version
		}
		if s.wrote && v.version(i) != s.based {
			s.wrote = false
		}
	}
	var mine []int // without those that are on their way out
	for i := range r.slots {
		if holders[i] == id && (r.slots[i].work == nil || r.slots[i].work.phase == running) {
			mine = append(mine, i)
		}
	}
	kept := keep(id, mine, r.quota(v))
	var next []string
	if !r.leaving {
		next = plan(r.expected(holders), v.replicas())
	}
	for i := range r.slots {
		s := &r.slots[i]
		switch {
		case s.work != nil && holders[i] != id:
			if r.lose(i) {
				r.log.Warn("this replica has lost a part: the record was changed by hand", "part", i, "lease", r.names.part(i), "holder", v.parts[i].holder())
			}
		case s.work != nil && kept[i]:
			if !s.busy && !s.wrote && !v.parts[i].states(r.opts.Parts) {
				r.write(v, i, id, now) // edited by hand: a replica that joins would be refused
			}
		case s.work != nil:
			r.drain(i, now)
		case s.busy || s.wrote:
			r.stuck.wants = true
		case holders[i] == id && kept[i] && s.doubt == v.version(i):
			r.write(v, i, id, now) // another may have been faster: a new version says who has it
		case holders[i] == id && kept[i]:
			r.begin(v, i, now)
		case holders[i] == id:
			r.write(v, i, "", now)
		case next != nil && next[i] == id:
			r.write(v, i, id, now)
		case next != nil && next[i] != "":
			r.stuck.due = next[i]
		}
	}
}

// expected returns the holders as they will be when what this replica is taking is
// visible: it must not take more than its quota.
func (r *Replica) expected(holders []string) []string {
	holders = slices.Clone(holders)
	for i := range r.slots {
		if s := &r.slots[i]; s.taking && (s.busy || s.wrote) {
			holders[i] = r.session.id
		}
	}
	return holders
}

// begin calls Work for a part that the view shows to be held.
func (r *Replica) begin(v *view, i int, now time.Time) {
	s := &r.slots[i]
	if now.Before(s.restart) {
		r.at(s.restart)
		return
	}
	held, lose := context.WithCancelCause(r.session.ctx)
	ctx, cancel := context.WithCancelCause(held)
	w := &work{
		part:  &Part{Index: i, Parts: r.opts.Parts, Transitions: int(v.parts[i].transitions()), ctx: held, deadline: r.session.deadline},
		since: now, cancel: cancel, lost: lose,
	}
	s.work = w
	if s.failures == 0 || !s.counted {
		s.counted = true
		r.counts.Took++
		r.metrics.Took(i)
		r.say("taken", i)
	}
	r.inFlight.Go(func() {
		err := r.opts.Work(ctx, w.part)
		r.results <- func(now time.Time) { r.returned(i, w, now, err) }
	})
}

// returned is called when Work has returned.
func (r *Replica) returned(i int, w *work, now time.Time, err error) {
	s := &r.slots[i]
	s.work = nil
	s.drained = now.Sub(w.since)
	w.lost(context.Canceled) // frees both contexts
	if w.phase != running {
		s.failures = 0
		return
	}
	// It is not done with its part as long as the part is held.
	if s.drained > time.Minute { // it has worked
		s.failures = 0
	}
	s.failures++
	s.restart = now.Add(r.jitter(min(time.Second<<min(s.failures-1, 5), 30*time.Second)))
	if err != nil {
		r.failed(now, fmt.Sprint("work ", i), "Work failed, and will be called again", err, "part", i, "failures", s.failures)
	}
}

// drain asks the work on a part to return, and cancels it if it does not in time.
func (r *Replica) drain(i int, now time.Time) {
	w := r.slots[i].work
	if w.phase == running {
		w.phase, w.since = draining, now
		w.cancel(ErrHandover)
	}
	late := w.since.Add(r.opts.DrainTimeout)
	switch {
	case w.phase != draining:
	case now.Before(late):
		r.at(late)
	default:
		w.phase = overdue
		r.log.Warn("a hand-over has taken too long, and keys in progress are cancelled", "part", i, "waited", r.opts.DrainTimeout.Round(time.Millisecond))
		w.lost(ErrLost)
	}
}

// lose cancels the work on a part, if there is any. It returns false if the part was not
// taken, or was lost already.
func (r *Replica) lose(i int) bool {
	s := &r.slots[i]
	if w := s.work; w != nil && w.phase != lost {
		w.phase, w.since = lost, r.clock.now()
		w.cancel(ErrLost) // first: the cause of Work's context is that, too
		w.lost(ErrLost)
	}
	if !s.counted {
		return false
	}
	s.counted = false
	r.counts.Lost++
	r.metrics.Lost(i)
	if r.opts.Parts == 1 {
		r.log.Warn("this replica leads no longer: it has lost the Lease")
		r.event(warning, EventLeaderLost, "has lost the Lease")
	}
	return true
}

// write takes a part for the session holder, or gives it up if that is "". The record
// carries the version that the view shows: of two replicas that take the same part, the
// server refuses one.
func (r *Replica) write(v *view, i int, holder string, now time.Time) {
	s := &r.slots[i]
	r.stuck.wants = true
	if s.busy {
		return
	}
	if now.Before(s.notBefore) {
		r.at(s.notBefore)
		return
	}
	writes := 0
	for i := range r.slots {
		if r.slots[i].busy {
			writes++
		}
	}
	if writes >= maxWrites {
		return // the end of one of them wakes the loop
	}
	l := r.record(v, i, holder, now)
	s.busy, s.based, s.taking = true, v.version(i), holder != ""
	if holder == "" {
		s.doubt = s.based
	}
	of := r.session
	r.request(func(ctx context.Context) (err error) {
		if l.ResourceVersion != "" {
			_, err = r.client.update(ctx, l)
			return err
		}
		if _, err = r.client.create(ctx, l); apierrors.IsAlreadyExists(err) {
			return errors.Join(err, r.relabel(ctx, l.Name))
		}
		return err
	}, func(now time.Time, err error) {
		if r.session != of {
			return
		}
		s.busy = false
		switch {
		case err == nil:
			s.wrote = true
			if holder == "" && s.counted {
				s.counted = false
				r.counts.Gave++
				r.metrics.Gave(i, s.drained)
				r.say("given up", i)
			}
			return
		case apierrors.IsConflict(err): // the view will show by what
		case apierrors.IsAlreadyExists(err) && !errors.Is(err, errForeign): // the view will show it
		default:
			r.failed(now, "write", "cannot write the record of a part", err, "part", i)
		}
		s.notBefore = r.soon(now)
	})
}

var errForeign = errors.New("a Lease of that name is not of this group: delete it, or choose another Options.Name")

// relabel puts the label of the group back on a record that exists and has lost it.
// Without the label the view does not show it.
func (r *Replica) relabel(ctx context.Context, name string) error {
	l, err := r.client.get(ctx, name)
	switch {
	case err != nil || l.Labels[GroupLabel] == r.opts.Name:
		return err
	case l.Annotations[partsAnnotation] == "":
		return errForeign
	}
	l.Labels = map[string]string{GroupLabel: r.opts.Name}
	_, err = r.client.update(ctx, l)
	return err
}

// record returns the record of a part with another holder.
func (r *Replica) record(v *view, i int, holder string, now time.Time) *lease {
	l := r.names.newPart(i, r.opts.Parts)
	if old := v.parts[i]; old != nil {
		annotations := l.Annotations
		l = old.copy()
		l.Annotations = annotations
	}
	stamp := metav1.NewMicroTime(now.UTC())
	l.Spec.RenewTime = &stamp
	// Not if the record is only put right: its owner has the part already.
	taken := holder != "" && (holder != l.holder() || v.parts[i].states(r.opts.Parts))
	l.Spec.HolderIdentity = &holder
	if taken {
		l.Spec.AcquireTime = &stamp
		l.Spec.LeaseTransitions = new(max(l.transitions(), l.transitions()+1)) // not beyond the largest
	}
	return l
}
