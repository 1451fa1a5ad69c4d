package wire

import (
	"context"
	"net/http/httptrace"
	"sync/atomic"
)

// One call of an HTTP client may send more than one request: net/http follows a
// redirect, and repeats a GET when the connection that it had kept turns out to be
// closed. Both go to the server without an allowance, so they are charged when
// they have been sent. The function for that travels in the context, past whatever
// wraps the source.

type chargeKey struct{}

// WithCharge returns a context under which a source calls charge for each request
// that it sends beyond the one that it was asked for.
func WithCharge(ctx context.Context, charge func()) context.Context {
	return context.WithValue(ctx, chargeKey{}, charge)
}

// Observer gets the calls of WithCharge and WithProgress. A watch may last for long, and as an
// Observer takes a third of the memory of two functions, each with a context.
type Observer interface {
	Charge()  // in place of the function of WithCharge
	Arrived() // in place of the function of WithProgress
}

type observerKey struct{}

// WithObserver returns a context under which a source reports to o what it does.
func WithObserver(ctx context.Context, o Observer) context.Context {
	return context.WithValue(ctx, observerKey{}, o)
}

// charging returns the context of one call of an HTTP client. GotConn is called for
// each request that gets a connection, also for one that is kept from an earlier
// request. It may be called on any goroutine.
func charging(ctx context.Context) context.Context {
	charge, ok := ctx.Value(chargeKey{}).(func())
	if o, observed := ctx.Value(observerKey{}).(Observer); observed && !ok {
		charge, ok = o.Charge, true
	}
	if !ok {
		return ctx
	}
	// One per call: the first request of a call was allowed before it, all others are
	// extra.
	var sent atomic.Bool
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { // once per request on the wire
			if sent.Swap(true) {
				charge()
			}
		},
	})
}
