package leader

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/internal/httpclient"
)

// Run tries to get the Lease, calls Lead when it has it, and goes on until ctx ends or Lead
// returns by itself. A term that was lost is followed by another one, when Lead has returned. Before
// it returns it releases the Lease, so another replica leads soon. It runs once.
//
// The error is that of Lead, unless ctx has ended and it is of a context. All else is logged, is in
// [Status], and tried again.
func (e *Elector) Run(ctx context.Context) error {
	if !e.running.CompareAndSwap(false, true) {
		return errors.New("leader: Run was called before; an Elector runs once")
	}
	defer e.release(ctx)
	for {
		sent, ok := e.acquire(ctx)
		if !ok {
			return nil
		}
		lost, err := e.lead(ctx, sent)
		if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Cause(ctx))) {
			err = nil
		}
		if !lost || ctx.Err() != nil {
			return err
		}
		if err != nil && !errors.Is(err, ErrLost) && !errors.Is(err, context.Canceled) {
			e.log.Warn("what the leader does has failed after the Lease was lost", "error", err)
		}
	}
}

// acquire looks until this replica holds the Lease. It returns when the write was sent; false
// if ctx ends first.
func (e *Elector) acquire(ctx context.Context) (sent time.Time, ok bool) {
	for ctx.Err() == nil {
		sent, err := e.attempt(ctx)
		if err == nil {
			return sent, true
		}
		pause := e.opts.RetryPeriod + time.Duration(e.rnd.Float64()*jitter*float64(e.opts.RetryPeriod))
		switch {
		case errors.Is(err, errHeld): // not later than it may be taken: promise 2
			pause = min(pause, time.Until(e.observed.Add(e.lease.duration())))
		case ctx.Err() == nil:
			e.failed("the Lease cannot be acquired, will retry", err)
		}
		wait(ctx, pause)
	}
	return time.Time{}, false
}

// lead is one term: it calls Lead, and renews until that has returned, also in a stop. lost is
// whether the Lease was lost before.
func (e *Elector) lead(ctx context.Context, sent time.Time) (lost bool, err error) {
	until := sent.Add(e.opts.RenewDeadline)
	held, lose := context.WithCancelCause(context.WithoutCancel(ctx))
	defer lose(context.Canceled)
	work, stop := context.WithCancelCause(held)
	defer context.AfterFunc(ctx, func() { stop(context.Cause(ctx)) })()
	term := &Term{ctx: held, until: until}
	renewing, returning := context.WithCancel(held)
	returned := make(chan struct{})
	e.log.Info("this replica has the Lease and leads now")
	e.note(func(s *Status) { s.Leads = true })
	defer e.note(func(s *Status) { s.Leads = false })
	go func() {
		defer close(returned)
		defer returning()
		err = e.opts.Lead(work, term)
	}()
	end := func() {
		term.extend(time.Time{})
		stop(ErrLost) // first: the cause of both is that
		lose(ErrLost)
	}
	// Whatever blocks below, such as a transport or the logger, the contexts end in time.
	expiry := time.AfterFunc(time.Until(until), end)
	var failure error
	for renewing.Err() == nil {
		wait(renewing, min(e.opts.RetryPeriod, time.Until(until)))
		request, cancel := context.WithDeadline(renewing, until)
		sent, failure = e.attempt(request)
		cancel()
		switch next := sent.Add(e.opts.RenewDeadline); {
		case renewing.Err() != nil: // Lead has returned, or the time is up
		case failure == nil && term.extend(next):
			until = next
			expiry.Reset(time.Until(until))
		case failure != nil && !errors.Is(failure, errHeld) && term.Held():
			e.failed("the Lease cannot be renewed, will retry", failure)
		default:
			end()
		}
	}
	expiry.Stop()
	if lost = errors.Is(context.Cause(held), ErrLost); lost {
		e.log.Warn("this replica leads no longer, as the Lease is lost; the context of Lead has ended", "error", failure)
	}
	<-returned
	return lost, err
}

// errHeld says that an attempt has failed as another replica has the Lease.
var errHeld = errors.New("another replica has the Lease")

// attempt tries once to get the Lease, or to renew it. It returns when the write was sent, and
// nil if this replica is the holder now. The rules are client-go's: a record counts from when it
// was seen in its present version, by the own clock, for as long as it states itself.
func (e *Elector) attempt(ctx context.Context) (sent time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, e.opts.RenewDeadline/2) // later than that, an answer is late
	defer cancel()
	defer func() {
		if err == nil || errors.Is(err, errHeld) { // a read alone proves nothing: the right to write may be missing
			e.logged = ""
			e.note(func(s *Status) { s.LastError = nil })
		}
	}()
	if e.Status().Leads { // it knows the version, most likely
		if sent, err = e.write(ctx, e.lease, e.id); err == nil {
			return sent, nil
		}
	}
	read, err := e.read(ctx)
	switch {
	case err != nil && client.IgnoreNotFound(err) == nil:
		return e.write(ctx, nil, e.id)
	case err != nil:
		return sent, err
	}
	e.see(read)
	if holder := read.holder(); holder != "" && holder != e.id && time.Now().Before(e.observed.Add(read.duration())) {
		return sent, fmt.Errorf("%w: %s", errHeld, holder)
	}
	// The Lease shows the newest write of this replica, whose answer was lost. If that did not count, the
	// replica could keep the Lease and never lead.
	shown := read.holder() == e.id && read.Spec.RenewTime != nil && read.Spec.RenewTime.UnixMicro() == e.sent.UnixMicro()
	if shown && time.Since(e.sent) < e.opts.RenewDeadline/2 {
		return e.sent, nil
	}
	return e.write(ctx, read, e.id)
}

func (e *Elector) read(ctx context.Context) (*lease, error) {
	key := types.NamespacedName{Namespace: e.opts.Namespace, Name: e.opts.Name}
	read, err := e.client.Get(ctx, key)
	if err == nil && client.KeyOf(read) != key { // a write would replace that Lease
		return nil, fmt.Errorf("the response is about the Lease %s; a proxy may confuse requests", httpclient.Cut(client.KeyOf(read).String()))
	}
	return read, err
}

// write makes holder the holder of the Lease, in the version that was read; nil: it is created.
func (e *Elector) write(ctx context.Context, read *lease, holder string) (sent time.Time, err error) {
	send := e.client.Update
	if read == nil {
		send = e.client.Create
	}
	sent = time.Now()
	e.sent = sent
	written, err := send(ctx, e.opts.record(read, holder, sent))
	// Two replicas could lead if each trusted a response that does not show it.
	if err == nil && (written.Name != e.opts.Name || written.Spec.HolderIdentity != holder) {
		return sent, fmt.Errorf("the response shows the Lease %q with the holder %q; a webhook or a proxy may have changed it", httpclient.Cut(written.Name), written.holder())
	}
	if err == nil {
		if holder == "" {
			e.log.Info("this replica has released the Lease")
			e.lease = written // there is nothing more to log
		}
		e.see(written)
		e.note(func(s *Status) { s.Renewed = sent })
	}
	return sent, err
}

// see notes a version of the Lease.
func (e *Elector) see(l *lease) {
	if e.lease == nil || e.lease.UID != l.UID || e.lease.ResourceVersion != l.ResourceVersion {
		e.observed = time.Now()
	}
	switch before, now := e.lease.holder(), l.holder(); {
	case before == now, now == e.id: // lead logs that
	case now == "":
		e.log.Info("the Lease was released: it has no holder now")
	default:
		e.log.Info("the holder of the Lease has changed", "holder", now)
	}
	e.lease = l
	e.note(func(s *Status) { s.Leader = l.holder() })
}

// failed logs a failure, but not the same one again and again.
func (e *Elector) failed(what string, err error) {
	e.note(func(s *Status) { s.LastError = err })
	if text := what + err.Error(); text != e.logged {
		e.logged = text
		e.log.Warn(what, "error", err)
	}
}

// release gives the Lease back if this replica may have it. Nothing of the leader runs any more.
func (e *Elector) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.opts.RenewDeadline)
	defer cancel()
	for time.Since(e.sent) < e.opts.LeaseDuration { // after that, any replica that has seen the write may take it
		read, err := e.read(ctx)
		if err == nil && read.holder() == e.id {
			_, err = e.write(ctx, read, "")
		}
		switch {
		case client.IgnoreNotFound(err) == nil:
			return
		case ctx.Err() != nil:
			e.failed("the Lease cannot be released; another replica leads after the lease duration", err)
			return
		}
		wait(ctx, e.opts.RetryPeriod/4)
	}
}

// wait returns after d, or when ctx ends.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
