package reflector_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/internal/verify/scripted"
	"github.com/informerkit/informerkit/reflector"
)

// TestRunEndsAtOnceFromEveryState cancels a reflector in each state it can be
// in for long.
//
// Promise reflector/5
func TestRunEndsAtOnceFromEveryState(t *testing.T) {
	halfList := func(w httpWriter, r *httpRequest, _ int) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind":"ConfigMapList","apiVersion":"v1","items":[` + scripted.ConfigMap("a", "1") + `,`))
		w.(flusher).Flush()
		scripted.Hang(r)
	}
	hung := func(_ httpWriter, r *httpRequest, _ int) { scripted.Hang(r) }
	for name, c := range map[string]struct {
		s     *scripted.Server
		opts  reflector.Options
		block bool
		state reflector.State
	}{
		"connecting to list":      {s: &scripted.Server{List: hung}, opts: listMode, state: reflector.StateConnecting},
		"listing":                 {s: &scripted.Server{List: halfList}, opts: listMode, state: reflector.StateListing},
		"connecting to watchlist": {s: &scripted.Server{WatchList: hung}, state: reflector.StateConnecting},
		"streaming": {s: &scripted.Server{WatchList: func(w httpWriter, r *httpRequest, _ int) {
			scripted.Send(w, "ADDED", scripted.ConfigMap("a", "1"))
			scripted.Hang(r)
		}}, state: reflector.StateStreaming},
		"connecting to watch": {s: &scripted.Server{List: scripted.Lists("1"), Watch: hung}, opts: listMode, state: reflector.StateConnecting},
		"watching":            {s: &scripted.Server{List: scripted.Lists("1"), Watch: scripted.Quiet}, opts: listMode, state: reflector.StateWatching},
		"watching after watchlist": {s: &scripted.Server{WatchList: func(w httpWriter, r *httpRequest, _ int) {
			scripted.Send(w, "BOOKMARK", scripted.Bookmark("1", true))
			scripted.Hang(r)
		}}, state: reflector.StateWatching},
		"backing off":           {s: &scripted.Server{List: scripted.Fails(500, "")}, opts: listMode, state: reflector.StateDegraded},
		"backing off watchlist": {s: &scripted.Server{WatchList: scripted.Fails(429, "")}, state: reflector.StateDegraded},
		"asked to come back later": {s: &scripted.Server{List: func(w httpWriter, _ *httpRequest, _ int) {
			w.Header().Set("Retry-After", "100")
			scripted.WriteStatus(w, 429, "", "")
		}}, opts: listMode, state: reflector.StateDegraded},
		"made to wait by the policy": {s: &scripted.Server{List: scripted.Fails(404, "")}, opts: reflector.Options{
			Sync:   reflector.SyncList,
			Policy: func(reflector.Failure) reflector.Decision { return reflector.RetryAfter(time.Hour) },
		}, state: reflector.StateDegraded},
		"blocked in Replace": {s: &scripted.Server{List: scripted.Lists("1", scripted.ConfigMap("a", "1"))}, opts: listMode, block: true, state: reflector.StateListing},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				sink := newRecorder()
				if c.block {
					sink.block = make(chan struct{})
				}
				r := run(t, sourceOf(t, c.s), sink, c.opts)
				after(5 * time.Second)
				require.Equal(t, c.state, r.Health().State)
				begin := time.Now()
				r.cancel()
				require.NoError(t, <-r.done)
				require.Less(t, time.Since(begin), 100*time.Millisecond)
				require.Equal(t, reflector.StateStopped, r.Health().State)
			})
		})
	}
}

func TestRunEndsWhileDialling(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{}
		cfg := s.Config(t)
		cfg.Transport = nil
		cfg.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
			// net/http continues a dial whose result is not awaited any more.
			select {
			case <-ctx.Done():
			case <-time.After(time.Minute):
			}
			return nil, context.DeadlineExceeded
		}
		lw, err := reflector.NewResource[*configMap](cfg, scripted.ConfigMaps, reflector.ResourceOptions{})
		require.NoError(t, err)
		r := run(t, lw, newRecorder(), listMode)
		after(5 * time.Second)
		require.Equal(t, reflector.StateConnecting, r.Health().State)
		begin := time.Now()
		r.cancel()
		require.NoError(t, <-r.done)
		require.Less(t, time.Since(begin), 100*time.Millisecond)
		after(time.Minute)
	})
}

func TestRunWithACancelledContextDoesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{List: scripted.Lists("1")}
		r, err := reflector.New(sourceOf(t, s), newRecorder(), reflector.Options{})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		require.NoError(t, r.Run(ctx))
		require.Empty(t, s.Requests())
		require.ErrorContains(t, r.Run(context.Background()), "Run was called before")
	})
}

// lazy is a stream that takes its time to close.
type lazy struct {
	closing chan struct{}
	begun   atomic.Bool
	closed  atomic.Bool
}

func (s *lazy) Next() (reflector.WatchEvent[*configMap], error) {
	<-s.closing
	return reflector.WatchEvent[*configMap]{}, errBroken
}

func (s *lazy) Close() error {
	if s.begun.CompareAndSwap(false, true) {
		close(s.closing)
		<-time.After(10 * time.Millisecond)
		s.closed.Store(true)
	}
	return nil
}

// streaming is a source whose watches are all the same stream.
type streaming struct {
	reflector.ListerWatcher[*configMap]
	stream reflector.Stream[*configMap]
}

func (s streaming) Watch(context.Context, reflector.Request) (reflector.Stream[*configMap], error) {
	return s.stream, nil
}

// Promise reflector/5
func TestStreamsAreClosedWhenRunReturns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, stream := &scripted.Server{List: scripted.Lists("1")}, &lazy{closing: make(chan struct{})}
		r := run(t, streaming{sourceOf(t, s), stream}, newRecorder(), listMode)
		after(time.Second)
		require.Equal(t, reflector.StateWatching, r.Health().State)
		r.cancel()
		require.NoError(t, <-r.done)
		require.True(t, stream.closed.Load())
	})
}
