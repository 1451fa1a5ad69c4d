package reflector_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/informerkit/informerkit/internal/memnet"
	"github.com/informerkit/informerkit/internal/verify/scripted"
	"github.com/informerkit/informerkit/reflector"
)

// lockedBuffer is a buffer that can be read while it is written to.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// withDefaultLogger runs f with a default logger of its own, in a bubble. It
// changes a global variable, so it must not run in parallel.
func withDefaultLogger(t *testing.T, f func(t *testing.T, logged *lockedBuffer)) {
	logged := &lockedBuffer{}
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(logged, nil)))
	defer slog.SetDefault(before)
	synctest.Test(t, func(t *testing.T) { f(t, logged) })
}

// Promise reflector/2
//
//nolint:paralleltest // the default logger is global
func TestFailuresAreLoggedByDefault(t *testing.T) {
	for name, c := range map[string]struct {
		s    *scripted.Server
		want string
	}{
		"forbidden":    {&scripted.Server{List: scripted.Fails(403, "")}, "add the verbs list and watch on configmaps"},
		"dead server":  {&scripted.Server{Refuse: memnet.Always}, "is the API server running, and is this its address?"},
		"unauthorized": {&scripted.Server{List: scripted.Fails(401, "")}, "credentials in the configuration are missing, wrong or expired"},
		"no resource":  {&scripted.Server{List: scripted.Fails(404, "")}, "does the API server respond"},
		"a bad object": {&scripted.Server{List: scripted.Lists("10", badCM("a", "1")), Watch: scripted.Quiet}, "ns/a"},
		"watch denied": {&scripted.Server{List: scripted.Lists("10"), Watch: scripted.Fails(403, "")}, "cannot watch configmaps"},
	} {
		t.Run(name, func(t *testing.T) {
			withDefaultLogger(t, func(t *testing.T, logged *lockedBuffer) {
				r := run(t, sourceOf(t, c.s), newRecorder(), listMode)
				after(time.Millisecond)
				r.cancel()
				require.NoError(t, <-r.done)
				require.Contains(t, logged.String(), "level=WARN")
				require.Contains(t, logged.String(), c.want)
				require.Contains(t, logged.String(), "reflector=configmaps")
			})
		})
	}
}

// logTo returns options with a logger, and the lines so far.
func logTo() (opts reflector.Options, lines func(containing string) []string) {
	logged := &lockedBuffer{}
	logger := slog.New(slog.NewTextHandler(logged, nil))
	return reflector.Options{Sync: reflector.SyncList, Logger: logger}, func(containing string) []string {
		var out []string
		for line := range strings.Lines(logged.String()) {
			if strings.Contains(line, containing) {
				out = append(out, line)
			}
		}
		return out
	}
}

// Promise reflector/2
func TestARepeatedFailureIsLoggedOnceAMinute(t *testing.T) {
	bubble(t, func(t *testing.T) {
		opts, lines := logTo()
		start := time.Now()
		s := &scripted.Server{List: func(w httpWriter, r *httpRequest, n int) {
			code := 500
			if time.Since(start) > 10*time.Minute {
				code = 403
			}
			scripted.Fails(code, "")(w, r, n)
		}}
		r := run(t, sourceOf(t, s), newRecorder(), opts)
		after(500 * time.Millisecond)
		require.Len(t, lines("WARN"), 1)
		after(59 * time.Second)
		require.Len(t, lines("WARN"), 1)
		after(9 * time.Minute)
		before := len(lines("WARN"))
		require.GreaterOrEqual(t, before, 6)
		require.LessOrEqual(t, before, 10)
		require.Contains(t, lines("WARN")[1], "suppressed=")
		after(35 * time.Second)
		require.Len(t, lines(`class=forbidden`), 1, "another reason is logged at once")
		r.cancel()
		require.NoError(t, <-r.done)
	})
}

func TestALineForWhatWasNotSuppressedHasNoCount(t *testing.T) {
	bubble(t, func(t *testing.T) {
		opts, lines := logTo()
		opts.Policy = func(reflector.Failure) reflector.Decision { return reflector.RetryAfter(time.Minute) }
		s := &scripted.Server{List: scripted.Fails(500, "")}
		r := run(t, sourceOf(t, s), newRecorder(), opts)
		after(150 * time.Second)
		r.cancel()
		require.NoError(t, <-r.done)
		require.Len(t, lines("WARN"), 3)
		require.Empty(t, lines("suppressed"))
	})
}

func TestBadObjectsOfAListAreOneLine(t *testing.T) {
	bubble(t, func(t *testing.T) {
		opts, lines := logTo()
		items := []string{scripted.ConfigMap("good", "1")}
		for i := range 5000 {
			items = append(items, badCM(fmt.Sprint("o", i), "1"))
		}
		reported := 0
		opts.OnQuarantine = func(*reflector.ObjectError) { reported++ }
		s := &scripted.Server{List: scripted.Lists("10", items...), Watch: scripted.Quiet}
		r := run(t, sourceOf(t, s), newRecorder(), opts)
		after(time.Second)
		r.cancel()
		require.NoError(t, <-r.done)
		require.Len(t, lines("quarantined"), 1+len(lines("has read its collection")), "one line, and the count in the one that says synced")
		line := lines("objects of a list cannot be read")
		require.Len(t, line, 1)
		require.Contains(t, line[0], `quarantined=5000 classes="decode 5000" first="ns/o0, ns/o1, ns/o2, ns/o3, ns/o4"`)
		require.Less(t, len(line[0]), 1000)
		require.Equal(t, 5000, reported)
		require.Equal(t, 5000, r.Health().Quarantined)
	})
}

func TestBadEventsAreLoggedOnceAMinute(t *testing.T) {
	bubble(t, func(t *testing.T) {
		opts, lines := logTo()
		s := &scripted.Server{List: scripted.Lists("10"), Watch: func(w httpWriter, r *httpRequest, _ int) {
			for i := range 2000 {
				scripted.Send(w, "ADDED", badCM(fmt.Sprint("o", i), fmt.Sprint(11+i)))
				scripted.Linger(r, 20*time.Millisecond)
			}
			scripted.Hang(r)
		}}
		r := run(t, sourceOf(t, s), newRecorder(), opts)
		after(50 * time.Second)
		r.cancel()
		require.NoError(t, <-r.done)
		require.Len(t, lines("an object cannot be read"), 1)
		require.Equal(t, 2000, r.Health().Quarantined)
	})
}

func TestLogLinesNameTheNamespace(t *testing.T) {
	bubble(t, func(t *testing.T) {
		opts, lines := logTo()
		opts.Name = "mine"
		s := &scripted.Server{List: scripted.Fails(403, "")}
		lw, err := reflector.NewResource[*corev1.ConfigMap](s.Config(t), scripted.ConfigMaps, reflector.ResourceOptions{Namespace: "team-a"})
		require.NoError(t, err)
		r := run(t, reflector.Transform(lw, reflector.StripManagedFields[*corev1.ConfigMap]), newRecorder(), opts)
		after(time.Millisecond)
		r.cancel()
		require.NoError(t, <-r.done)
		require.Len(t, lines("reflector=mine namespace=team-a"), 1)
	})
}

func TestAPolicyThatStopsIsLogged(t *testing.T) {
	bubble(t, func(t *testing.T) {
		opts, lines := logTo()
		opts.Policy = func(reflector.Failure) reflector.Decision { return reflector.Stop() }
		s := &scripted.Server{List: scripted.Fails(403, "")}
		r := run(t, sourceOf(t, s), newRecorder(), opts)
		require.Error(t, <-r.done)
		require.Len(t, lines("its policy decided"), 1)
	})
}
