package reflector_test

import (
	"context"
	"io"
	"net/http/httptrace"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/reflector"
)

// stormy is a source that repeats one request without end within a call, as net/http does
// when each connection is closed by GOAWAY, until the call is cancelled or the storm is over.
type stormy struct {
	what  string // list, watch or check
	until time.Time

	mu      sync.Mutex
	sent    []time.Time
	watches int
	tried   bool // the storm was met
}

// send sends a request of one kind, and reports whether it was answered.
func (s *stormy) send(ctx context.Context, what string) error {
	for {
		s.mu.Lock()
		s.sent = append(s.sent, time.Now())
		s.mu.Unlock()
		httptrace.ContextClientTrace(ctx).GotConn(httptrace.GotConnInfo{})
		if what != s.what || !time.Now().Before(s.until) {
			return nil
		}
		s.mu.Lock()
		s.tried = true
		s.mu.Unlock()
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *stormy) List(ctx context.Context, req reflector.Request, _ func(reflector.WatchEvent[*corev1.ConfigMap]) error) (metav1.ListMeta, error) {
	what := "list"
	if req.ListOptions.Limit == 1 {
		what = "check"
	}
	if err := s.send(ctx, what); err != nil {
		return metav1.ListMeta{}, err
	}
	return metav1.ListMeta{ResourceVersion: "10"}, nil
}

func (s *stormy) Watch(ctx context.Context, _ reflector.Request) (reflector.Stream[*corev1.ConfigMap], error) {
	if err := s.send(ctx, "watch"); err != nil {
		return nil, err
	}
	s.watches++
	if s.watches == 1 && s.what == "check" { // the version is in doubt
		return nil, io.ErrUnexpectedEOF
	}
	return &waiting{ctx}, nil
}

// waiting is a stream without events.
type waiting struct{ ctx context.Context }

func (w *waiting) Next() (reflector.WatchEvent[*corev1.ConfigMap], error) {
	<-w.ctx.Done()
	return reflector.WatchEvent[*corev1.ConfigMap]{}, w.ctx.Err()
}

func (w *waiting) Close() error { return nil }

// Promise reflector/3
func TestRequestsWithinOneCallAreBoundedAndLeaveNoDebt(t *testing.T) {
	for _, what := range []string{"list", "watch", "check"} {
		t.Run(what, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := &stormy{what: what, until: time.Now().Add(30 * time.Second)}
				r := run(t, s, newRecorder(), listMode)
				after(30 * time.Second)
				s.mu.Lock()
				tried, sent := s.tried, slices.Clone(s.sent)
				s.mu.Unlock()
				require.True(t, tried)
				for i, at := range sent {
					n := 0
					for _, other := range sent[i:] {
						if other.Sub(at) < 10*time.Second {
							n++
						}
					}
					require.LessOrEqual(t, n, 11, "in the 10s after request %d", i)
				}
				after(30 * time.Second)
				require.Equal(t, reflector.StateWatching, r.Health().State, "the debt is bounded: %v", r.Health().LastError)
				require.True(t, r.Health().Synced)
			})
		})
	}
}
