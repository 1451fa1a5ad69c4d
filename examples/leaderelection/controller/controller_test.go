package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer/controller"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/leader"
)

const (
	objects       = 10_000
	leaseDuration = 15 * time.Second
	// succession is how long a follower takes at most to see that the Lease is free.
	succession = leaseDuration * 2 / 15 * 11 / 5
)

var configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")

// With 10,000 objects in the cache of a follower, it works within 2.2 retry periods after a leader that
// has handed over, and after a crash the lease duration later: what package leader promises. Time is that
// of the bubble: what the protocol waits for.
func TestTimeToTheFirstReconcileOfAFollower(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, err := informertest.NewServer(informertest.Options{InMemory: true})
		require.NoError(t, err)
		defer server.Close()
		create := func(name, handledBy string) {
			c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				Namespace: "default", Name: name, Labels: map[string]string{"examples.informerkit.dev/controller": "leaderelection"},
			}}
			if handledBy != "" {
				c.Annotations = map[string]string{Annotation: handledBy}
			}
			require.NoError(t, server.Create(c))
		}
		for i := range objects {
			create(fmt.Sprint("old-", i), "somebody")
		}
		first, second, third := start(t, server, "first"), start(t, server, "second"), start(t, server, "third")
		handled := func(name string) string {
			for {
				c, err := server.Get(configMaps, "default", name)
				require.NoError(t, err)
				if by := c.GetAnnotations()[Annotation]; by != "" {
					return by
				}
				time.Sleep(10 * time.Millisecond)
			}
		}
		create("one", "")
		require.Equal(t, "first", handled("one"))

		began := time.Now()
		first.stop()
		require.NoError(t, <-first.ended) // while it drains, it would handle what is new
		create("two", "")
		by := handled("two")
		t.Logf("%v after a hand-over", time.Since(began))
		assert.Less(t, time.Since(began), succession+time.Second)

		leads := map[string]*replica{"second": second, "third": third}[by]
		began = time.Now()
		leads.cut.Store(true)
		create("three", "")
		assert.NotEqual(t, by, handled("three"))
		t.Logf("%v after a crash", time.Since(began))
		assert.LessOrEqual(t, time.Since(began), leaseDuration+succession+time.Second)
		for _, r := range []*replica{second, third} {
			r.stop()
			require.NoError(t, <-r.ended)
		}
	})
}

// replica is a replica that can be cut off, which is what a crash is for the others.
type replica struct {
	cut   atomic.Bool
	stop  context.CancelFunc
	ended chan error
}

func start(t *testing.T, server *informertest.Server, name string) *replica {
	t.Helper()
	r := &replica{ended: make(chan error, 1)}
	cfg := rest.CopyConfig(server.Config())
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			if r.cut.Load() {
				return nil, errors.New("the network is down")
			}
			return next.RoundTrip(request)
		})
	})
	c := newQuiet(cfg, leader.Options{Identity: name, Namespace: "default", LeaseDuration: leaseDuration})
	var ctx context.Context
	ctx, r.stop = context.WithCancel(t.Context())
	go func() { r.ended <- c.Run(ctx) }()
	time.Sleep(time.Second)
	synctest.Wait()
	return r
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// newQuiet returns a replica that says nothing.
func newQuiet(cfg *rest.Config, lease leader.Options) *Controller {
	return New(controller.Options{Config: cfg, Workers: 2, Logger: slog.New(slog.DiscardHandler)}, lease, func(string, ...any) {})
}
