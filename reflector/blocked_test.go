package reflector_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/informerkit/informerkit/internal/verify/scripted"
	"github.com/informerkit/informerkit/reflector"
)

// blocking is a transport whose requests, once on, do not return with their context, such as a credential plugin that hangs.
type blocking struct {
	http.RoundTripper
	on      atomic.Bool
	release chan struct{}
	stuck   atomic.Int32 // requests
	most    atomic.Int32
}

func (b *blocking) RoundTrip(req *http.Request) (*http.Response, error) {
	if b.on.Load() {
		b.most.Store(max(b.most.Load(), b.stuck.Add(1)))
		<-b.release
		b.stuck.Add(-1)
	}
	return b.RoundTripper.RoundTrip(req)
}

// A request that does not return with its context is reported, as is each state in which it blocks, and does not hold
// up the end of Run. It is never sent afterwards.
//
// Promise reflector/4
// Promise reflector/5
func TestATransportThatBlocksIsReportedAndDoesNotHoldUpRun(t *testing.T) {
	objects := []string{scripted.ConfigMap("a", "1")}
	for name, c := range map[string]struct {
		s       *scripted.Server
		opts    reflector.Options
		initial bool // the first request blocks
	}{
		"list":      {s: &scripted.Server{List: scripted.Lists("1", objects...), Watch: scripted.Quiet}, opts: listMode, initial: true},
		"watchlist": {s: &scripted.Server{List: scripted.Lists("1", objects...), Watch: scripted.Quiet}, initial: true},
		"watch":     {s: &scripted.Server{List: scripted.Lists("1", objects...), Watch: scripted.Quiet}, opts: listMode},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				b := &blocking{release: make(chan struct{})}
				cfg := c.s.Config(t)
				cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper { b.RoundTripper = rt; return b })
				lw, err := reflector.NewResource[*corev1.ConfigMap](cfg, scripted.ConfigMaps, reflector.ResourceOptions{})
				require.NoError(t, err)
				var log bytes.Buffer
				opts := c.opts
				opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
				b.on.Store(c.initial)
				sink := newRecorder()
				r := run(t, lw, sink, opts)
				after(time.Second)
				b.on.Store(true) // the next watch blocks, after ten minutes at most
				after(15 * time.Minute)
				h := r.Health()
				assert.Equal(t, reflector.StateDegraded, h.State)
				assert.ErrorContains(t, h.LastError, "hangs")
				assert.ErrorContains(t, h.LastError, "blocking", "the type of the transport")
				assert.False(t, h.DegradedSince.IsZero())
				after(time.Hour)
				assert.EqualValues(t, 1, b.most.Load(), "one is stuck, and no other request is made")

				got := len(c.s.Requests())
				r.cancel()
				begin := time.Now()
				require.NoError(t, <-r.done)
				assert.Less(t, time.Since(begin), time.Second)
				assert.Contains(t, log.String(), "hangs")
				close(b.release)
				after(time.Minute)
				assert.Zero(t, b.stuck.Load())
				assert.Len(t, c.s.Requests(), got, "a request that was left behind is not sent")
			})
		})
	}
}

// A transport that works again is used again.
//
// Promise reflector/4
func TestAReflectorRecoversFromATransportThatBlocked(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{List: scripted.Lists("1", scripted.ConfigMap("a", "1")), Watch: scripted.Quiet}
		b := &blocking{release: make(chan struct{})}
		b.on.Store(true)
		cfg := s.Config(t)
		cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper { b.RoundTripper = rt; return b })
		lw, err := reflector.NewResource[*corev1.ConfigMap](cfg, scripted.ConfigMaps, reflector.ResourceOptions{})
		require.NoError(t, err)
		sink := newRecorder()
		r := run(t, lw, sink, listMode)
		after(time.Hour)
		require.Equal(t, reflector.StateDegraded, r.Health().State)
		b.on.Store(false)
		close(b.release)
		after(2 * time.Minute)
		assert.Equal(t, reflector.StateWatching, r.Health().State)
		assert.Equal(t, "a@1", sink.holds())
	})
}
