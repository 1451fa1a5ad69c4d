package reflector_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/informerkit/informerkit/internal/verify/scripted"
	"github.com/informerkit/informerkit/reflector"
)

// Promise reflector/2
func TestTheStateMachineIsObservable(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{
			List: scripted.InTurn(scripted.Fails(503, ""), scripted.Lists("10", scripted.ConfigMap("a", "1"))),
			Watch: scripted.InTurn(func(w httpWriter, r *httpRequest, _ int) {
				scripted.Begin(w)
				scripted.Linger(r, time.Minute)
			}, scripted.Quiet),
		}
		var states []reflector.State
		metrics := &counting{}
		var logged bytes.Buffer
		r := run(t, sourceOf(t, s), newRecorder(), reflector.Options{
			Sync: reflector.SyncList, Metrics: metrics, Name: "test",
			OnStateChange: func(h reflector.Health) { states = append(states, h.State) },
			Logger:        slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug})),
		})
		after(2 * time.Minute)
		r.cancel()
		require.NoError(t, <-r.done)
		want := []reflector.State{
			reflector.StateConnecting, reflector.StateDegraded,
			reflector.StateConnecting, reflector.StateListing, reflector.StateSynced,
			reflector.StateConnecting, reflector.StateWatching,
			reflector.StateConnecting, reflector.StateWatching, reflector.StateStopped,
		}
		require.Equal(t, want, states)
		require.Equal(t, want, metrics.states)
		require.Equal(t, []string{"list 0 server error", "list 1 ", "watch 0 closed"}, metrics.log[:3])
		require.Contains(t, logged.String(), `level=WARN msg="reading from the API server failed, will retry" reflector=test op=list class="server error"`)
		require.Contains(t, logged.String(), `level=INFO msg="the reflector has read its collection" reflector=test objects=1 resourceVersion=10`)
		require.Contains(t, logged.String(), `level=DEBUG msg="the state of the reflector has changed" reflector=test from=New to=Connecting`)
	})
}

func TestHealthHasTheTimeOfTheNextAttempt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{List: scripted.Fails(500, "")}
		r, err := reflector.New(sourceOf(t, s), newRecorder(), listMode)
		require.NoError(t, err)
		h := r.Health()
		require.Equal(t, reflector.StateNew, h.State)
		require.Empty(t, h.Reconnects)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- r.Run(ctx) }()
		after(10 * time.Millisecond)
		h = r.Health()
		require.Equal(t, s.Started(), h.Since)
		require.Equal(t, s.Started(), h.LastErrorTime)
		wait := h.NextAttempt.Sub(s.Started())
		require.GreaterOrEqual(t, wait, 800*time.Millisecond)
		after(wait - 11*time.Millisecond)
		require.Len(t, s.Requests(), 1)
		after(time.Millisecond)
		require.Len(t, s.Requests(), 2)
		cancel()
		require.NoError(t, <-done)
		require.Zero(t, r.Health().NextAttempt)
	})
}

func TestMetricsCountEvents(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{WatchList: initial(func(w httpWriter, r *httpRequest) {
			scripted.Send(w, "BOOKMARK", scripted.Bookmark("10", true))
			scripted.Send(w, "MODIFIED", badCM("a", "11"))
			scripted.Hang(r)
		}, scripted.ConfigMap("a", "1"))}
		metrics := &counting{}
		r := run(t, sourceOf(t, s), newRecorder(), reflector.Options{Metrics: metrics})
		after(time.Second)
		require.Equal(t, "ADDED|BOOKMARK|list 1 |MODIFIED|quarantined decode", strings.Join(metrics.log, "|"))
		require.Equal(t, s.Started(), r.Health().LastEvent)
	})
}

func TestMetricsCountTheEventsOfAWatch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{List: scripted.Lists("10"), Watch: func(w httpWriter, _ *httpRequest, _ int) {
			scripted.Begin(w)
			for i := range 3 {
				scripted.Send(w, "ADDED", scripted.ConfigMap(fmt.Sprint("o", i), fmt.Sprint(11+i)))
			}
		}}
		metrics := &counting{}
		opts := listMode
		opts.Metrics = metrics
		run(t, sourceOf(t, s), newRecorder(), opts)
		after(100 * time.Millisecond)
		require.Equal(t, []string{"list 0 ", "ADDED", "ADDED", "ADDED", "watch 3 closed"}, metrics.log[:5])
	})
}

// counting is a Metrics that records the calls.
type counting struct {
	log    []string
	states []reflector.State
}

func (c *counting) note(format string, args ...any) {
	c.log = append(c.log, fmt.Sprintf(format, args...))
}

func (c *counting) Listed(_ time.Duration, n int, class reflector.ErrorClass) {
	c.note("list %d %s", n, class)
}

func (c *counting) Watched(_ time.Duration, n int, class reflector.ErrorClass) {
	c.note("watch %d %s", n, class)
}
func (c *counting) Received(typ watch.EventType)           { c.note("%s", typ) }
func (c *counting) Quarantined(class reflector.ErrorClass) { c.note("quarantined %s", class) }
func (c *counting) StateChanged(_, to reflector.State)     { c.states = append(c.states, to) }
