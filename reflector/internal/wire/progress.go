package wire

import (
	"context"
	"io"
)

// A source that reads from the network says that bytes arrive, so that one big
// object on a slow connection is not taken for an answer that stalls. The
// function for that travels in the context, past whatever wraps the source.
// See also [WithObserver].

type progressKey struct{}

// WithProgress returns a context under which an answer's reader calls f for the
// bytes that arrive, from any goroutine.
func WithProgress(ctx context.Context, f func()) context.Context {
	return context.WithValue(ctx, progressKey{}, f)
}

// reporting returns the body of an answer that reports what arrives.
func reporting(ctx context.Context, body io.ReadCloser) io.ReadCloser {
	if f, ok := ctx.Value(progressKey{}).(func()); ok {
		return &reportingBody{body, f}
	}
	if o, ok := ctx.Value(observerKey{}).(Observer); ok {
		return &reportingBody{body, o.Arrived}
	}
	return body
}

// reportingBody calls arrived for each Read that returned bytes, and changes nothing
// else.
type reportingBody struct {
	io.ReadCloser
	arrived func()
}

// Read implements [io.Reader].
func (b *reportingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		// Also for bytes that come with an error: they have arrived.
		b.arrived()
	}
	return n, err
}
