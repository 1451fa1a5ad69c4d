package build

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// LeaseDuration is how long a Lease that has not changed belongs to its holder.
	LeaseDuration = 15 * time.Second
	// RenewDeadline is how long the holder works after its last renewal. The difference is
	// for its work to end in, and for clocks that do not run equally fast.
	RenewDeadline = 10 * time.Second
	// RetryPeriod is the time between two attempts, of the holder and of the others.
	RetryPeriod = 2 * time.Second
)

// Elector takes turns with others at holding a Lease: an object that names its holder.
type Elector struct {
	client   *Client
	name     string
	identity string

	seen  string    // the version of the Lease
	since time.Time // when it was first seen, by this clock: those of others may be wrong
}

// errHeld says that another replica has the Lease.
var errHeld = errors.New("another replica has the Lease")

// Run tries to take the Lease until ctx ends. Each time that it has it, it calls lead, with
// a context that ends when the Lease is lost.
func (e *Elector) Run(ctx context.Context, lead func(context.Context)) {
	for ctx.Err() == nil {
		began := time.Now()
		err := e.try(ctx, e.identity)
		if err == nil && time.Since(began) < RenewDeadline { // a late answer is as good as none
			e.term(ctx, began, lead)
		}
		pause(ctx, RetryPeriod)
	}
}

// term leads until ctx ends or the Lease is lost: it could not be renewed in time, or
// another replica has it. Then it waits for lead to return.
func (e *Elector) term(ctx context.Context, renewed time.Time, lead func(context.Context)) {
	leading, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		lead(leading)
	}()
	for leading.Err() == nil {
		pause(leading, min(RetryPeriod, time.Until(renewed.Add(RenewDeadline))))
		began := time.Now()
		attempt, cancel := context.WithDeadline(leading, renewed.Add(RenewDeadline))
		switch err := e.try(attempt, e.identity); {
		case err == nil:
			renewed = began
		case errors.Is(err, errHeld) || time.Since(renewed) >= RenewDeadline:
			stop()
		}
		cancel()
	}
	<-ended
	if ctx.Err() != nil { // then the next one need not wait
		release, cancel := context.WithTimeout(context.WithoutCancel(ctx), RetryPeriod)
		defer cancel()
		_ = e.try(release, "") // it has logged a failure
	}
}

// try makes holder the holder of the Lease, if it is free or held by this one already; an
// empty holder releases it. Of two at the same time, one gets a conflict: the server
// compares the version that was read.
func (e *Elector) try(ctx context.Context, holder string) error {
	lease := &coordinationv1.Lease{}
	target := e.client.leases.JoinPath(e.name)
	err := e.client.read(ctx, target, lease)
	switch {
	case apierrors.IsNotFound(err) && holder == "":
		return nil
	case apierrors.IsNotFound(err):
		lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: e.name}}
		err = e.client.write(ctx, http.MethodPost, e.client.leases, e.hold(lease, holder))
	case err == nil && !e.free(lease):
		return errHeld
	case err == nil:
		err = e.client.write(ctx, http.MethodPut, target, e.hold(lease, holder))
	}
	if err != nil && ctx.Err() == nil && !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
		slog.Warn("cannot take or renew the Lease, and tries again", "lease", e.name, "error", err)
	}
	return err
}

// free notes since when this version has been seen, and reports whether this one may hold
// the Lease: it has it, nobody has, or the one that has it has not renewed it for as long
// as it lasts.
func (e *Elector) free(lease *coordinationv1.Lease) bool {
	if lease.ResourceVersion != e.seen {
		e.seen, e.since = lease.ResourceVersion, time.Now()
	}
	holder := lease.Spec.HolderIdentity
	return holder == nil || *holder == "" || *holder == e.identity || time.Since(e.since) >= LeaseDuration
}

// hold sets the holder.
func (e *Elector) hold(lease *coordinationv1.Lease, holder string) *coordinationv1.Lease {
	now, seconds := metav1.NowMicro(), int32(LeaseDuration.Seconds())
	lease.APIVersion, lease.Kind = coordinationv1.SchemeGroupVersion.WithKind("Lease").ToAPIVersionAndKind()
	lease.Spec.HolderIdentity, lease.Spec.RenewTime, lease.Spec.LeaseDurationSeconds = &holder, &now, &seconds
	return lease
}
