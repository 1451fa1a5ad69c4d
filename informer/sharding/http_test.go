package sharding

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer/health"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/reflector"
)

// inServer runs a test in a bubble with an API server.
func inServer(t *testing.T, test func(t *testing.T, server *informertest.Server)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, err := informertest.NewServer(informertest.Options{InMemory: true})
		require.NoError(t, err)
		defer server.Close()
		test(t, server)
	})
}

func TestClient(t *testing.T) {
	inServer(t, func(t *testing.T, server *informertest.Server) {
		n := names{"default", "group"}
		c, err := newClient(server.Config(), n)
		require.NoError(t, err)
		ctx := t.Context()

		now := metav1.NewMicroTime(time.Now().UTC())
		session := n.newSession("me", 1500*time.Millisecond, now)
		made, err := c.create(ctx, session)
		require.NoError(t, err)
		assert.Equal(t, "me", made.holder())
		assert.EqualValues(t, 2, *made.Spec.LeaseDurationSeconds, "rounded up")
		assert.True(t, made.Spec.RenewTime.Equal(&now), "in microseconds")
		_, err = c.create(ctx, session)
		require.True(t, apierrors.IsAlreadyExists(err), err)

		changed := made.copy()
		changed.Spec.HolderIdentity = new("you")
		changed, err = c.update(ctx, changed)
		require.NoError(t, err)
		_, err = c.update(ctx, made)
		require.True(t, apierrors.IsConflict(err), err)
		require.True(t, apierrors.IsConflict(c.remove(ctx, made)))
		read, err := c.get(ctx, made.Name)
		require.NoError(t, err)
		assert.Equal(t, changed, read)

		listed := 0
		_, err = c.source().List(ctx, reflector.Request{}, func(ev reflector.WatchEvent[*lease]) error {
			l, err := ev.Object, ev.Err
			listed++
			require.NoError(t, err)
			assert.Equal(t, read, l)
			return nil
		})
		require.NoError(t, err)
		assert.Equal(t, 1, listed)

		require.NoError(t, c.remove(ctx, read))
		// A Lease that was deleted must not come back by a renewal.
		_, err = c.update(ctx, read)
		require.Error(t, err)
		_, err = c.get(ctx, made.Name)
		require.True(t, apierrors.IsNotFound(err), err)
		require.True(t, apierrors.IsNotFound(c.remove(ctx, read)))

		server.Inject(informertest.Fault{Verb: "get", Resource: "leases", Times: 1, Effect: informertest.Respond(200, "text/html", "<html>")})
		_, err = c.get(ctx, "any")
		require.ErrorContains(t, err, "is this the address of an API server?")
		server.Inject(informertest.Fault{Verb: "get", Resource: "leases", Times: 1, Effect: informertest.Respond(502, "text/html", "<html>")})
		_, err = c.get(ctx, "any")
		var status *apierrors.StatusError
		require.ErrorAs(t, err, &status)
		assert.EqualValues(t, 502, status.ErrStatus.Code)
	})
}

// Three replicas over HTTP, of which one is stopped and one loses the server.
func TestReplicasOfAServer(t *testing.T) {
	inServer(t, func(t *testing.T, server *informertest.Server) {
		type call struct {
			who   string
			part  int
			began bool
			cause error
		}
		calls := make(chan call, 1000)
		ended := make(chan error, 3)
		start := func(who string) (*Replica, context.CancelFunc) {
			ctx, stop := context.WithCancel(t.Context())
			r, err := New(rest.CopyConfig(server.Config()), Options{
				Name: "group", Namespace: "default", Identity: who, Parts: 6,
				Work: func(ctx context.Context, part *Part) error {
					calls <- call{who, part.Index, true, nil}
					<-ctx.Done()
					calls <- call{who, part.Index, false, context.Cause(ctx)}
					return nil
				},
			})
			require.NoError(t, err)
			go func() { ended <- r.Run(ctx) }()
			time.Sleep(2 * time.Second)
			synctest.Wait()
			return r, stop
		}
		a, stopA := start("a")
		b, stopB := start("b")
		c, stopC := start("c")
		for _, r := range []*Replica{a, b, c} {
			h := r.Health()
			assert.Equal(t, health.ReplicaMember, h.State)
			assert.Len(t, h.Held, 2)
			assert.Len(t, h.Replicas, 3)
			assert.True(t, h.Leases.Synced)
			require.NoError(t, h.LastError)
		}
		writes := server.Count("update", "leases")
		time.Sleep(time.Minute)
		assert.InDelta(t, 3*60/2.5, server.Count("update", "leases")-writes, 8, "only sessions are renewed")
		stopA()
		require.NoError(t, <-ended)
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Len(t, b.Health().Held, 3)
		stopB()
		stopC()
		require.NoError(t, <-ended)
		require.NoError(t, <-ended)
		left, err := server.List(leaseResource, "default", nil)
		require.NoError(t, err)
		assert.Len(t, left, 6, "the records of the parts")
		close(calls)
		working := map[int]string{}
		for call := range calls {
			if call.began {
				require.Empty(t, working[call.part], "part %d", call.part)
				working[call.part] = call.who
				continue
			}
			require.Equal(t, call.who, working[call.part])
			require.Equal(t, ErrHandover, call.cause)
			delete(working, call.part)
		}
	})
}
