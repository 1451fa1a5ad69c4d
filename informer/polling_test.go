package informer

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/reflector"
)

// What can be listed and not watched is ready, and lags by half a minute.
func TestAPolledInformerIsReadyAndFollows(t *testing.T) {
	t.Parallel()
	for name, effect := range map[string]informertest.Effect{
		"405": informertest.Respond(405, "application/json", `{"kind":"Status","status":"Failure","reason":"MethodNotAllowed","code":405}`),
		"404": informertest.Respond(404, "text/plain", "404 page not found"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inFactory(t, FactoryOptions{}, func(t *testing.T, s *informertest.Server, fac *Factory) {
				s.Inject(informertest.Fault{Verb: "watch", Resource: "pods", Times: -1, Effect: effect})
				createPod(t, s, "default", "a")
				createPod(t, s, "default", "gone")
				pods, err := For[*pod](fac)
				require.NoError(t, err)
				var mu sync.Mutex
				var events []string
				take := func() []string {
					mu.Lock()
					defer mu.Unlock()
					defer func() { events = nil }()
					return events
				}
				_, err = pods.AddHandler(HandlerFunc[*pod](func(e Event[*pod]) {
					mu.Lock()
					defer mu.Unlock()
					events = append(events, fmt.Sprint(e.Type, " ", e.Key.Name))
				}))
				require.NoError(t, err)
				fac.Start(t.Context())
				require.NoError(t, fac.WaitForSync(t.Context()))
				time.Sleep(10 * time.Minute)
				require.NoError(t, fac.Ready())
				require.Equal(t, reflector.StatePolling, pods.Health().Sources[0].Reflector.State)
				require.ElementsMatch(t, []string{"Added a", "Added gone"}, take(), "polls of what has not changed are no events")

				createPod(t, s, "default", "b")
				require.NoError(t, s.Delete(podResource, "default", "gone"))
				begun := time.Now()
				require.NoError(t, pods.WaitForDeleted(t.Context(), types.NamespacedName{Namespace: "default", Name: "gone"}, ""))
				assert.LessOrEqual(t, time.Since(begun), 40*time.Second)
				time.Sleep(time.Minute)
				require.ElementsMatch(t, []string{"Added b", "Deleted gone"}, take())
			})
		})
	}
}

// Ready is not nil while the API server is away, and Unsynced stays nil.
func TestUnsyncedStaysNilWithoutTheServer(t *testing.T) {
	t.Parallel()
	inFactory(t, FactoryOptions{}, func(t *testing.T, s *informertest.Server, fac *Factory) {
		_, err := For[*pod](fac)
		require.NoError(t, err)
		require.ErrorContains(t, fac.Unsynced(), "is not running")
		fac.Start(t.Context())
		require.NoError(t, fac.WaitForSync(t.Context()))
		require.NoError(t, fac.Unsynced())
		s.Inject(informertest.Fault{Times: -1, Effect: informertest.Drop()})
		s.BreakConnections()
		time.Sleep(2 * time.Minute)
		require.Error(t, fac.Ready())
		require.NoError(t, fac.Unsynced())
	})
}
