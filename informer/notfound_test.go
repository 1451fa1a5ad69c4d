package informer

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/informerkit/informerkit/informer/informertest"
)

// noRoute has the server answer every URL with 404, as a gateway does that has lost its route.
func noRoute(s *informertest.Server) (back func()) {
	back = s.Inject(informertest.Fault{Times: -1, Effect: informertest.Respond(404, "text/plain", "no route for this host")})
	s.BreakConnections()
	return back
}

// A gateway that has lost its route takes nothing out of a cache, for as long as that lasts: the cache
// keeps the objects, handlers get no event, and the next list delivers what has changed.
func TestAGatewayWithoutARouteDeletesNothing(t *testing.T) {
	t.Parallel()
	inFactory(t, FactoryOptions{}, func(t *testing.T, s *informertest.Server, fac *Factory) {
		createPod(t, s, "default", "x")
		createPod(t, s, "default", "y")
		pods, err := For(fac, ForOptions[*pod]{})
		require.NoError(t, err)
		var events []string
		_, err = pods.AddHandler(HandlerFunc[*pod](func(e Event[*pod]) {
			events = append(events, fmt.Sprint(e.Type, " ", e.Key.Name, " ", e.Origin))
		}))
		require.NoError(t, err)
		fac.Start(t.Context())
		require.NoError(t, fac.WaitForSync(t.Context()))
		synctest.Wait()
		assert.Len(t, events, 2)

		back := noRoute(s)
		begun := time.Now()
		err = pods.WaitForDeleted(t.Context(), objKey("default", "x"), "")
		require.ErrorContains(t, err, "no route for this host", "without a deadline it would wait for as long as the 404 lasts")
		require.NotErrorIs(t, err, context.DeadlineExceeded)
		require.Less(t, time.Since(begun), time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorContains(t, pods.WaitForDeleted(ctx, objKey("default", "x"), ""), "no route for this host")
		require.NoError(t, pods.WaitForDeleted(t.Context(), objKey("default", "z"), ""), "it was never there")

		for range 12 {
			time.Sleep(time.Hour)
			require.ErrorContains(t, fac.Ready(), "no route for this host")
		}
		synctest.Wait()
		assert.Equal(t, 2, pods.Snapshot().Len())
		assert.Len(t, events, 2)
		assert.ErrorContains(t, pods.Health().Sources[0].Reflector.LastError, "pods")

		require.NoError(t, s.Delete(corev1.SchemeGroupVersion.WithResource("pods"), "default", "x"))
		back()
		time.Sleep(time.Minute)
		synctest.Wait()
		require.NoError(t, pods.WaitForDeleted(t.Context(), objKey("default", "x"), ""))
		assert.Equal(t, 1, pods.Snapshot().Len())
		assert.Equal(t, "Deleted x Relist", events[2])
		assert.NoError(t, fac.Ready())
	})
}

// A wait for a deletion outlasts a 404 of some seconds, as of a server that starts.
func TestWaitForDeletedOutlastsAShort404(t *testing.T) {
	t.Parallel()
	inFactory(t, FactoryOptions{}, func(t *testing.T, s *informertest.Server, fac *Factory) {
		createPod(t, s, "default", "x")
		pods, err := For(fac, ForOptions[*pod]{})
		require.NoError(t, err)
		fac.Start(t.Context())
		require.NoError(t, fac.WaitForSync(t.Context()))
		back := noRoute(s)
		time.AfterFunc(20*time.Second, func() {
			assert.NoError(t, s.Delete(corev1.SchemeGroupVersion.WithResource("pods"), "default", "x"))
			back()
		})
		require.NoError(t, pods.WaitForDeleted(t.Context(), objKey("default", "x"), ""))
	})
}

func TestReadyReportsAMissingKindUnlessItIsOptional(t *testing.T) {
	t.Parallel()
	for _, optional := range []bool{false, true} {
		t.Run(fmt.Sprint("optional ", optional), func(t *testing.T) {
			t.Parallel()
			inFactory(t, FactoryOptions{}, func(t *testing.T, s *informertest.Server, fac *Factory) {
				ready := func(after time.Duration, want bool, why string) {
					t.Helper()
					time.Sleep(after)
					synctest.Wait()
					if err := fac.Ready(); want {
						require.NoError(t, err, why)
					} else {
						require.ErrorContains(t, err, "Widget", why)
					}
				}
				widgets, err := For(fac, ForOptions[untyped]{Kind: widgetKind, Optional: optional})
				require.NoError(t, err)
				ready(0, false, "it does not run")
				fac.Start(t.Context())
				ready(time.Second, optional, "it was never there")
				ready(time.Hour, optional, "it was never there")
				require.NoError(t, s.Create(widgetDefinition()))
				require.NoError(t, s.Create(objectOf(widgetKind, "default", "w", nil)))
				ready(time.Minute, true, "it is there")
				require.NoError(t, s.Delete(crds, "", "widgets.example.com"))
				ready(time.Minute, false, "it was there")
				ready(8*time.Minute, false, "it was there")
				ready(2*time.Minute, optional, "ten minutes have passed")
				ready(time.Hour, optional, "ten minutes have passed")
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				require.NoError(t, WaitForSync(ctx, widgets), "the cache has had a list")

				if optional { // another user needs the kind
					other, err := For(fac, ForOptions[untyped]{Kind: widgetKind})
					require.NoError(t, err)
					ready(0, false, "a user needs it")
					other.Release()
				}
				remove := s.Inject(informertest.Fault{Times: -1, Effect: informertest.Respond(503, "text/plain", "down")})
				ready(time.Hour, false, "another failure counts, whatever the kind")
				remove()
				// Nothing of it is left once it is released, while the server answers 404.
				widgets.Release()
				<-widgets.Done()
				require.NoError(t, fac.Ready())
				require.Empty(t, fac.Health())
			})
		})
	}
}
