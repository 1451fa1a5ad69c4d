package informer

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/reflector"
)

// logged is what was logged, to be read line by line.
type logged struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// take returns the lines that contain text since the last call.
func (l *logged) take(text string) (lines []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.buf.String()) {
		if strings.Contains(line, text) {
			lines = append(lines, line)
		}
	}
	l.buf.Reset()
	return lines
}

func (l *logged) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// asDefault makes it slog's default until the end of the test, which must not be
// parallel to others.
func (l *logged) asDefault(t *testing.T) {
	before := slog.Default()
	slog.SetDefault(l.logger())
	t.Cleanup(func() { slog.SetDefault(before) })
}

func TestWithoutALoggerFailuresAreLoggedToTheDefault(t *testing.T) { //nolint:paralleltest // slog's default
	l := &logged{}
	l.asDefault(t)
	c := newCluster()
	c.fail(errors.New("boom"))
	inWorld(t, c, Options[*pod]{Name: "pods"}, func(t *testing.T, w *world) {
		time.Sleep(time.Second)
		lines := l.take("boom")
		require.NotEmpty(t, lines)
		assert.Contains(t, lines[0], "informer=pods")
	})
	l.take("")
	stop := func(reflector.Failure) reflector.Decision { return reflector.Stop() }
	inFactory(t, FactoryOptions{Reflector: reflector.Options{Policy: stop}}, func(t *testing.T, s *informertest.Server, fac *Factory) {
		s.Inject(informertest.Fault{Times: -1, Effect: informertest.Respond(403, "text/plain", "no")})
		fac.Start(t.Context())
		pods, err := For(fac, ForOptions[*pod]{})
		require.NoError(t, err)
		<-pods.Done()
		synctest.Wait()
		assert.Len(t, l.take("an informer has failed"), 1)
	})
	l.take("")
	c.fail(errors.New("boom"))
	inWorld(t, c, Options[*pod]{Logger: slog.New(slog.DiscardHandler)}, func(t *testing.T, _ *world) {
		time.Sleep(time.Hour)
		assert.Empty(t, l.take(""), "the discarding handler silences")
	})
}

// knownNamespace is a source that can name its namespace, as those of NewResource.
type knownNamespace struct {
	reflector.ListerWatcher[*pod]
	namespace string
}

func (s knownNamespace) Namespace() string { return s.namespace }

func TestLogLinesOfANamespaceNameIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, c := &logged{}, newCluster()
		c.enter()
		inf, err := NewNamespaced(map[string]reflector.ListerWatcher[*pod]{"a": knownNamespace{c.namespaced("a"), "a"}, "b": c.namespaced("b")},
			Options[*pod]{Name: "pods", Logger: l.logger()})
		require.NoError(t, err)
		w := &world{cluster: c, t: t, inf: inf}
		w.run()
		stray := labelled("1")
		stray.Namespace = "c"
		require.NoError(t, inf.applier.progress.sources[0].sink().Replace(t.Context(), []*pod{stray}, "500"))
		synctest.Wait()
		w.fail(errors.New("boom"))
		w.disconnect(true)
		time.Sleep(time.Minute)
		synctest.Wait()
		lines := l.take("")
		for _, namespace := range []string{"a", "b"} {
			assert.Contains(t, strings.Join(lines, ""), "namespace="+namespace)
		}
		assert.Contains(t, strings.Join(lines, ""), "some objects of a list are not cached")
		for _, line := range lines {
			assert.Equal(t, 1, strings.Count(line, "namespace="), "%q", line)
			assert.Contains(t, line, "informer=pods")
		}
		w.stop()
	})
}

// A wait without a deadline says what it waits for, rarely.
func TestWaitForSyncWithoutADeadlineLogsWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, c := &logged{}, newCluster()
		c.fail(errors.New("boom"))
		w := newWorld(t, c, Options[*pod]{Name: "pods", Logger: l.logger()})
		_, r := w.join(HandlerOptions{Name: "mine"})
		w.run()
		start := func(ctx context.Context) chan error {
			ended := make(chan error, 1)
			go func() { ended <- WaitForSync(ctx, w.inf, r) }()
			return ended
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		require.Error(t, <-start(ctx))
		assert.Empty(t, l.take("still waiting"), "the error says it")

		ended := start(t.Context())
		time.Sleep(9 * time.Second)
		assert.Empty(t, l.take("still waiting"))
		time.Sleep(2 * time.Second)
		lines := l.take("still waiting")
		require.Len(t, lines, 2)
		for i, name := range []string{"informer \\\"pods\\\"", "handler \\\"mine\\\""} {
			assert.Contains(t, lines[i], name)
			assert.Contains(t, lines[i], "boom")
			assert.Contains(t, lines[i], "waited=10s")
		}
		time.Sleep(10 * time.Minute)
		lines = l.take("still waiting")
		require.Len(t, lines, 2*10)
		assert.Contains(t, lines[0], "waited=1m10s")
		assert.Contains(t, lines[19], "waited=10m10s")
		w.fail(nil)
		require.NoError(t, <-ended)
		l.take("")
		time.Sleep(time.Hour)
		assert.Empty(t, l.take("still waiting"))
		w.stop()
	})
}

func TestWaitForSyncLogsWhatIsForeignToTheDefault(t *testing.T) { //nolint:paralleltest // slog's default
	l := &logged{}
	l.asDefault(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		require.Error(t, WaitForSync(ctx, foreign{}))
		time.Sleep(time.Hour)
		assert.Len(t, l.take("the foreign thing"), 1, "nothing is logged after the wait")
	})
}

// foreign is a Syncable that never syncs.
type foreign struct{}

func (foreign) Synced() <-chan struct{} { return nil }
func (foreign) Done() <-chan struct{}   { return nil }
func (foreign) Unsynced() error         { return errors.New("the foreign thing is not synced") }
