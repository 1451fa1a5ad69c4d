package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"

	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/sharding"
)

// Client-go's recorder can be used, too.
var _ sharding.EventRecorder = events.EventRecorder(nil)

const (
	objects       = 10_000
	leaseDuration = 15 * time.Second
)

var configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")

// With 10,000 objects in the cache of a follower, it works within a second of the
// lease duration after the leader has crashed, and within a second after one that has
// handed over. Time is that of the bubble: what the protocol waits for.
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
		require.ErrorIs(t, <-first.ended, context.Canceled) // while it drains, it would handle what is new
		create("two", "")
		by := handled("two")
		t.Logf("%v after a hand-over", time.Since(began))
		assert.Less(t, time.Since(began), time.Second)

		leader := map[string]*replica{"second": second, "third": third}[by]
		began = time.Now()
		leader.cut.Store(true)
		create("three", "")
		assert.NotEqual(t, by, handled("three"))
		t.Logf("%v after a crash", time.Since(began))
		assert.LessOrEqual(t, time.Since(began), leaseDuration+time.Second)
		for _, r := range []*replica{second, third} {
			r.stop()
			require.ErrorIs(t, <-r.ended, context.Canceled)
		}
	})
}

// A server that does not answer requests for Events changes nothing about who leads. Those
// that it has answered say who has led, also the last one of a replica that ends.
func TestEventsSayWhoLeadsAndAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	for _, silent := range []bool{false, true} {
		t.Run(fmt.Sprint("silent=", silent), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server, err := informertest.NewServer(informertest.Options{InMemory: true})
				require.NoError(t, err)
				defer server.Close()
				first := startOn(t, server, "first", func(r *http.Request) error {
					if !silent || path.Base(r.URL.Path) != "events" {
						return nil
					}
					<-r.Context().Done()
					return r.Context().Err()
				})
				require.NoError(t, server.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
					Namespace: "default", Name: "one", Labels: map[string]string{"examples.informerkit.dev/controller": "leaderelection"},
				}}))
				time.Sleep(time.Second)
				one, err := server.Get(configMaps, "default", "one")
				require.NoError(t, err)
				assert.Equal(t, "first", one.GetAnnotations()[Annotation])
				stopped := time.Now()
				first.stop()
				require.ErrorIs(t, <-first.ended, context.Canceled)
				assert.Less(t, time.Since(stopped), 2*time.Second)
				time.Sleep(3 * eventTimeout) // for those that are on the wire, one after the other
				written, err := server.List(corev1.SchemeGroupVersion.WithResource("events"), "default", nil)
				require.NoError(t, err)
				var lines []string
				for _, u := range written {
					var e corev1.Event
					require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &e))
					lines = append(lines, e.Reason+": "+e.Message)
					assert.Equal(t, "Lease informerkit-example-part-0", e.InvolvedObject.Kind+" "+e.InvolvedObject.Name)
					assert.Equal(t, "first", e.ReportingInstance)
				}
				slices.Sort(lines)
				if silent {
					assert.Empty(t, lines)
				} else {
					assert.Equal(t, []string{"LeaderElected: replica first leads", "LeaderReleased: replica first has released the Lease"}, lines)
				}
			})
		})
	}
}

// replica is a replica that can be cut off, which is what a crash is for the others.
type replica struct {
	cut   atomic.Bool
	stop  context.CancelFunc
	ended chan error
}

func start(t *testing.T, server *informertest.Server, name string) *replica {
	t.Helper()
	return startOn(t, server, name, func(*http.Request) error { return nil })
}

// startOn starts a replica whose requests fail if before returns an error.
func startOn(t *testing.T, server *informertest.Server, name string, before func(*http.Request) error) *replica {
	t.Helper()
	r := &replica{ended: make(chan error, 1)}
	cfg := rest.CopyConfig(server.Config())
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			if r.cut.Load() {
				return nil, errors.New("the network is down")
			}
			if err := before(request); err != nil {
				return nil, err
			}
			return next.RoundTrip(request)
		})
	})
	c, err := New(cfg, Options{Identity: name, Namespace: "default", LeaseDuration: leaseDuration, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	var ctx context.Context
	ctx, r.stop = context.WithCancel(t.Context())
	go func() { r.ended <- c.Run(ctx) }()
	time.Sleep(time.Second)
	synctest.Wait()
	return r
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
