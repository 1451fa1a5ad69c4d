package informer

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A line is the one that slog.Logger.With would have made.
func TestNameOfTheInformerIsInEachLineAsWithWouldPutIt(t *testing.T) {
	t.Parallel()
	lines := func(name func(*slog.Logger) *slog.Logger) string {
		var b bytes.Buffer
		l := name(slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{AddSource: true, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey && len(groups) == 0 {
				return slog.Attr{}
			}
			return a
		}})).With("program", "p").WithGroup("g"))
		log := func(l *slog.Logger) { l.Info("line", "key", 1) } // one source for all of them
		log(l)
		log(l.With("handler", "h"))
		log(l.WithGroup("sub").With("handler", "h"))
		l.Debug("not enabled")
		return b.String()
	}
	want := lines(func(l *slog.Logger) *slog.Logger { return l.With("informer", "Pod") })
	got := lines(func(l *slog.Logger) *slog.Logger { return slog.New(&namedHandler{l.Handler(), "Pod"}) })
	assert.Equal(t, want, got)
	assert.Contains(t, got, "logname_test.go")
}
