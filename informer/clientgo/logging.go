package clientgo

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// What an informer logs is for people who know client-go's: the failures of requests are
// logged by the watch error handler, and a success is no news.
const (
	failuresVerbosity = 2 // of requests
	infoVerbosity     = 2
	debugVerbosity    = 4
)

// requestFailed is what a reflector logs of the failure of a request.
const requestFailed = "reading from the API server failed, will retry"

// logHandler passes on what an informer logs to klog, or to the logger of the context
// that the informer runs with.
type logHandler struct {
	// to is set when the informer is started. All handlers that derive from one share it.
	to   *atomic.Pointer[klog.Logger]
	with []func(slog.Handler) slog.Handler // attributes and groups
}

// newLogHandler returns a handler for klog.
func newLogHandler() *logHandler { return &logHandler{to: &atomic.Pointer[klog.Logger]{}} }

// use sets the logger of all that derive from h.
func (h *logHandler) use(l klog.Logger) { h.to.Store(&l) }

// logger returns where a record goes to.
func (h *logHandler) logger() klog.Logger {
	if l := h.to.Load(); l != nil {
		return *l
	}
	return klog.Background()
}

// verbosity returns klog's -v for a level.
func verbosity(level slog.Level) int {
	switch {
	case level >= slog.LevelWarn:
		return 0
	case level >= slog.LevelInfo:
		return infoVerbosity
	}
	return debugVerbosity
}

// Enabled implements [slog.Handler].
func (h *logHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelError || h.logger().V(verbosity(level)).Enabled()
}

// Handle implements [slog.Handler].
func (h *logHandler) Handle(ctx context.Context, r slog.Record) error {
	v := verbosity(r.Level)
	if r.Message == requestFailed { // the watch error handler has it
		v = failuresVerbosity
	}
	logger := h.logger()
	if r.Level < slog.LevelError {
		if !logger.V(v).Enabled() {
			return nil
		}
		r.Level = slog.Level(-v) // as logr maps levels
	}
	out := logr.ToSlogHandler(logger)
	for _, with := range h.with {
		out = with(out)
	}
	return out.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.derive(func(next slog.Handler) slog.Handler { return next.WithAttrs(attrs) })
}

// WithGroup implements [slog.Handler].
func (h *logHandler) WithGroup(name string) slog.Handler {
	return h.derive(func(next slog.Handler) slog.Handler { return next.WithGroup(name) })
}

func (h *logHandler) derive(with func(slog.Handler) slog.Handler) slog.Handler {
	return &logHandler{to: h.to, with: append(h.with[:len(h.with):len(h.with)], with)}
}
