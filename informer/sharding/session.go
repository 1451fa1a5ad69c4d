package sharding

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	objects "github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/internal/httpclient"
)

// session is the life of a replica in its group, as the others see it: a Lease that it
// renews. A session that has ended never comes back; the replica begins another.
//
//	join ─▶ created ─▶ confirmed ─▶ … renewed and confirmed … ─▶ leaving ─▶ deleted
//	            │           │                                       │
//	            └───────────┴──── deadline has passed, or deleted ──┘──▶ ended: all work cancelled
//
// The others count it from the first renewal after it was confirmed on. Otherwise a replica that can
// write but sees nothing would be given parts with each session that it begins, and never work on them.
type session struct {
	id string
	// lease is the newest version that was written or read.
	lease *lease
	// sent is when each renewal was sent whose result is not visible yet, by the renew
	// time that it wrote, in microseconds.
	sent      map[int64]time.Time
	stamped   time.Time // the newest renew time that was written
	renewed   time.Time // when the newest visible one was sent
	confirmed bool
	deadline  *deadline
	ctx       context.Context //nolint:containedctx // ends with the session
	end       context.CancelCauseFunc
	renewing  bool
	next      time.Time // renewal
}

// join begins a session. Before that it makes sure that the group has the same number
// of parts: the record of part 0 says so, and creating it is atomic.
func (r *Replica) join(v *view, now time.Time) error {
	if !r.leases.HasSynced() {
		return nil // an event will follow, or the health of the informer says why not
	}
	if v.foreign != nil {
		return fmt.Errorf("sharding: Lease %s/%s says that group %q has %q parts, and this replica %d: end all replicas and delete the Leases with the label %s=%s to change the number",
			r.names.namespace, v.foreign.Name, r.opts.Name, httpclient.Cut(v.foreign.Annotations[partsAnnotation]), r.opts.Parts, GroupLabel, r.opts.Name)
	}
	if now.Before(r.notJoin) {
		r.at(r.notJoin)
		return nil
	}
	if v.parts[0] == nil {
		r.write(v, 0, "", now)
		return nil
	}
	if r.stuck.prove {
		r.proveWrites(v, now)
		return nil
	}
	ctx, end := context.WithCancelCause(context.Background())
	s := &session{
		id: newID(r.opts.Identity, r.rnd), sent: map[int64]time.Time{}, ctx: ctx, end: end, renewing: true,
		deadline: newDeadline(r.clock, now.Add(r.opts.RenewDeadline)), next: now.Add(r.jitter(r.opts.RenewInterval)),
	}
	for i := range r.slots {
		r.slots[i].reset()
	}
	r.session = s
	s.lease = r.names.newSession(s.id, r.opts.LeaseDuration, s.stamp(now))
	s.lease.Annotations = map[string]string{joiningAnnotation: "true"}
	var made *lease
	r.request(func(ctx context.Context) (err error) {
		made, err = r.client.create(ctx, s.lease)
		return err
	}, func(now time.Time, err error) {
		switch {
		case r.session != s:
		case err != nil:
			r.failed(now, "join", "cannot create the Lease of a session", err)
			r.endSession(err) // the answer may be lost, and the session be there: it is removed
			if apierrors.IsAlreadyExists(err) {
				r.orphan = nil // it is another's
			}
		default:
			s.renewing, s.lease = false, made
		}
	})
	return nil
}

// stamp returns the renew time of a renewal that is sent now, which identifies it: no
// two of a session are the same, even if the wall clock is set back. Otherwise an older
// renewal could pass for a newer one.
func (s *session) stamp(now time.Time) metav1.MicroTime {
	t := now.UTC().Truncate(time.Microsecond)
	if !t.After(s.stamped) {
		t = s.stamped.Add(time.Microsecond)
	}
	s.stamped = t
	s.sent[t.UnixMicro()] = now
	return metav1.NewMicroTime(t)
}

// confirm looks for the session in the view. A renewal counts from when it was sent,
// but only once the view shows it. So the server has committed it, and the
// view has everything that was written before it: a replica whose view stands still
// does not go on working.
func (r *Replica) confirm(v *view, now time.Time) {
	s := r.session
	l := v.sessions[s.id]
	switch {
	case l != nil && l.Spec.RenewTime != nil:
		stamp := l.Spec.RenewTime.UnixMicro()
		if sent, ok := s.sent[stamp]; ok && s.deadline.extend(sent.Add(r.opts.RenewDeadline)) {
			s.renewed = sent
			if !s.confirmed {
				s.confirmed = true
				s.next = now // the others are to count it
				r.counts.Sessions++
				r.groupEvent(normal, EventReplicaJoined, "has joined the group, with session %s", s.id)
			}
			for t := range s.sent {
				if t <= stamp {
					delete(s.sent, t)
				}
			}
		}
	case l == nil && s.confirmed:
		r.endSession(errors.New("its Lease was deleted: another replica has not seen it renewed for the lease duration"))
		return
	}
	if !s.deadline.ahead() {
		r.endSession(fmt.Errorf("it was not renewed within %v", r.opts.RenewDeadline))
		return
	}
	r.at(s.deadline.time())
}

// renew renews the session when it is time.
func (r *Replica) renew(now time.Time) {
	s := r.session
	if s == nil || s.renewing {
		return
	}
	if now.Before(s.next) {
		r.at(s.next)
		return
	}
	l := s.lease.copy()
	stamp := s.stamp(now)
	fresh := r.names.newSession(s.id, r.opts.LeaseDuration, stamp)
	fresh.Spec.AcquireTime = l.Spec.AcquireTime
	l.Spec, l.Labels, l.Annotations = fresh.Spec, fresh.Labels, fresh.Annotations // what was edited by hand is put back
	switch {
	case r.leaving:
		l.Annotations = map[string]string{leavingAnnotation: "true"}
	case !s.confirmed:
		l.Annotations = map[string]string{joiningAnnotation: "true"}
	}
	s.renewing, s.next = true, now.Add(r.jitter(r.opts.RenewInterval))
	r.request(func(ctx context.Context) error {
		written, err := r.client.update(ctx, l)
		if apierrors.IsConflict(err) {
			// Edited by hand, or written by a renewal whose answer was lost.
			var read *lease
			if read, err = r.client.get(ctx, l.Name); err == nil && read.UID != l.UID {
				err = apierrors.NewNotFound(leaseResource.GroupResource(), l.Name)
			}
			if err == nil {
				l.ResourceVersion = read.ResourceVersion
				written, err = r.client.update(ctx, l)
			}
		}
		l = written
		return err
	}, func(done time.Time, err error) {
		r.metrics.Renewed(done.Sub(now), err)
		if r.session != s {
			return
		}
		s.renewing = false
		switch {
		case err == nil:
			s.lease = l
		case objects.IgnoreNotFound(err) == nil:
			r.endSession(errors.New("its Lease was deleted: another replica has not seen it renewed for the lease duration, or somebody has by hand"))
		default:
			r.failed(done, "renew", "cannot renew the session", err)
			s.next = r.soon(done)
		}
	})
}

// endSession ends the session, if there is one, and cancels all work.
func (r *Replica) endSession(cause error) {
	s := r.session
	if s == nil {
		return
	}
	r.session = nil
	s.deadline.end()
	s.end(ErrLost)
	n := 0
	for i := range r.slots {
		if r.lose(i) {
			n++
		}
	}
	r.notJoin = r.soon(r.clock.now())
	if n > 0 || s.confirmed && !r.leaving {
		r.log.Warn("this replica has lost its session, and with it all parts", "session", s.id, "parts", n, "error", cause)
		r.groupEvent(warning, EventReplicaLost, "has lost its session and with it %d parts: %v", n, cause)
	}
	r.orphan = s.lease
}

// removeOrphan deletes the Lease of the session that has ended, once nothing of it runs
// any more, so that others need not wait for it to expire.
func (r *Replica) removeOrphan() {
	l := r.orphan
	if l == nil || r.working() {
		return
	}
	r.orphan = nil
	l = l.copy()
	l.ResourceVersion = "" // whatever it is now
	r.request(func(ctx context.Context) error { return r.client.remove(ctx, l) }, func(time.Time, error) {})
}

// leave returns true when the last part is given up and the session is ended. The
// others know by an annotation that this replica is to have no parts any more.
func (r *Replica) leave(v *view, now time.Time) bool {
	s := r.session
	if s.confirmed && !r.working() && !r.busy() && !slices.Contains(v.holders(), s.id) {
		r.log.Info("this replica has left the group", "session", s.id)
		r.groupEvent(normal, EventReplicaLeft, "has left the group, and all of its parts are given up")
		return true
	}
	return !s.confirmed && !s.renewing && !r.working()
}

// endExpired ends the sessions of replicas that have not renewed them. That is a
// write on the very Lease that they renew: the server accepts the one or the other.
func (r *Replica) endExpired(v *view, now time.Time) {
	for id := range r.ending {
		if v.sessions[id] == nil {
			delete(r.ending, id)
		}
	}
	for id, l := range v.sessions {
		if id == r.session.id {
			continue
		}
		at := r.observed.expires(l, id, r.opts.LeaseDuration)
		if again := r.ending[id]; at.Before(again) {
			at = again
		}
		if now.Before(at) {
			r.at(at)
			continue
		}
		r.ending[id] = now.Add(r.opts.RenewInterval)
		r.at(r.ending[id])
		r.request(func(ctx context.Context) error { return r.client.remove(ctx, l) }, func(now time.Time, err error) {
			switch {
			case err == nil:
				r.log.Info("ended the session of a replica that has not renewed it", "session", id)
				r.groupEvent(warning, EventReplicaExpired, "has ended session %s, which was not renewed: its parts are free", id)
			case !apierrors.IsConflict(err) && objects.IgnoreNotFound(err) != nil: // renewed, or ended by another replica
				r.failed(now, "end", "cannot end an expired session", err)
			}
		})
	}
}
