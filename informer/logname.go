package informer

import (
	"context"
	"log/slog"
)

// namedHandler adds the name of an informer to a line when it is logged. Most informers
// log once in their life, and what [slog.Logger.With] prepares for each line takes more
// memory than the name.
type namedHandler struct {
	slog.Handler
	informer string
}

// named is the handler with the name.
func (h *namedHandler) named() slog.Handler {
	return h.Handler.WithAttrs([]slog.Attr{slog.String("informer", h.informer)})
}

// Handle implements [slog.Handler].
func (h *namedHandler) Handle(ctx context.Context, r slog.Record) error {
	return h.named().Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (h *namedHandler) WithAttrs(attrs []slog.Attr) slog.Handler { return h.named().WithAttrs(attrs) }

// WithGroup implements [slog.Handler].
func (h *namedHandler) WithGroup(group string) slog.Handler { return h.named().WithGroup(group) }
