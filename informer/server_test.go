package informer

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/deltafifo"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/intern"
	"github.com/informerkit/informerkit/internal/object"
	"github.com/informerkit/informerkit/internal/verify/scripted"
	"github.com/informerkit/informerkit/reflector"
)

var podResource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// TestFollowsAnUnreliableServer is the simulation over the Kubernetes protocol:
// handlers behind a reflector whose server drops, delays, garbles and restarts.
func TestFollowsAnUnreliableServer(t *testing.T) {
	t.Parallel()
	eachSeed(t, 3, followUnreliable)
}

func followUnreliable(t *testing.T, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	s := informertest.Start(t, informertest.Options{InMemory: true, Scheme: scripted.CoreTypes(), Seed: seed, HistoryLength: 50})
	source, err := reflector.NewResource[*pod](s.Config(), podResource, reflector.ResourceOptions{})
	require.NoError(t, err)
	inf, err := New(source, Options[*pod]{Transform: intern.Transform[*pod](intern.NewPool())})
	require.NoError(t, err)
	w := &world{t: t, inf: inf}
	w.run()

	var all []*observer
	beUnreliable(t, s, rnd, inf, func(step int) {
		if step%40 == 0 {
			o := observe(t, nil)
			pace := time.Duration(rnd.IntN(300)) * time.Millisecond
			o.each = func(Event[*pod]) { time.Sleep(pace) }
			_, err := inf.AddHandler(o, HandlerOptions{Bound: 1 + rnd.IntN(20)})
			require.NoError(t, err)
			all = append(all, o)
		}
	})
	want := serverState(t, s)
	require.Equal(t, want, cacheState(inf), "cache")
	for i, o := range all {
		assert.Equal(t, want, o.state(), "observer %d", i)
	}
	w.stop()
	s.Close()
}

// TestClassicChainFollowsAnUnreliableServer is the same for the classic chain.
func TestClassicChainFollowsAnUnreliableServer(t *testing.T) {
	t.Parallel()
	eachSeed(t, 3, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 4))
		s := informertest.Start(t, informertest.Options{InMemory: true, Scheme: scripted.CoreTypes(), Seed: seed, HistoryLength: 50})
		source, err := reflector.NewResource[*pod](s.Config(), podResource, reflector.ResourceOptions{})
		require.NoError(t, err)
		c := newClassic(t, source, deltafifo.Options[*pod]{Limit: 1 + rnd.IntN(20)}, reflector.Options{})
		o := observe(t, c.store)
		pace := time.Duration(rnd.IntN(300)) * time.Millisecond
		o.each = func(Event[*pod]) { time.Sleep(pace) }
		c.handle = o.OnEvent
		stop := c.run(t)
		beUnreliable(t, s, rnd, c.store, func(int) {})
		want := serverState(t, s)
		require.Equal(t, want, cacheState(c.store), "store")
		require.Equal(t, want, o.state(), "handler")
		stop()
		s.Close()
	})
}

// beUnreliable changes pods, some of them so that they cannot be decoded, with
// chaos, restarts and outages, and then lets the readers recover.
func beUnreliable(t *testing.T, s *informertest.Server, rnd *rand.Rand, cache snapshots, each func(step int)) {
	t.Helper()
	calm := s.InjectChaos(informertest.Chaos{Seed: rnd.Uint64(), Rate: 0.4})
	for step := range 200 {
		changePod(t, s, rnd, step)
		each(step)
		switch rnd.IntN(60) {
		case 0:
			s.Restart()
		case 1:
			require.NoError(t, s.Pause())
			time.Sleep(time.Duration(rnd.IntN(60)) * time.Second)
			require.NoError(t, s.Resume())
		case 2:
			// A client that lags, or learns of the new history only when that has
			// reached the version it remembers, cannot know that it is another
			// history: no reader can. So it has caught up before, and notices before
			// anything else is written.
			mendPods(t, s)
			awaitServerState(t, s, cache)
			require.NoError(t, s.RestartWithNewHistory())
			awaitServerState(t, s, cache)
		}
		time.Sleep(time.Duration(rnd.IntN(2000)) * time.Millisecond)
	}
	calm()
	mendPods(t, s)
	time.Sleep(30 * time.Minute)
	synctest.Wait()
}

// awaitServerState returns when the cache equals what the server has.
func awaitServerState(t *testing.T, s *informertest.Server, cache snapshots) {
	t.Helper()
	for range 24 * 60 {
		time.Sleep(time.Minute)
		if maps.Equal(serverState(t, s), cacheState(cache)) {
			return
		}
	}
	require.Equal(t, serverState(t, s), cacheState(cache), "cache after a day")
}

// serverState is the resourceVersion of each object that the server has.
func serverState(t *testing.T, s *informertest.Server) map[types.NamespacedName]string {
	t.Helper()
	state := map[types.NamespacedName]string{}
	objs, err := s.List(podResource, "", nil)
	require.NoError(t, err)
	for _, o := range objs {
		state[object.KeyOf(o)] = o.GetResourceVersion()
	}
	return state
}

// cacheState is the resourceVersion of each object in the cache.
func cacheState(cache snapshots) map[types.NamespacedName]string {
	state := map[types.NamespacedName]string{}
	for p := range cache.Snapshot().All() {
		state[object.KeyOf(p)] = p.ResourceVersion
	}
	return state
}

// changePod creates, changes or deletes one of 20 pods. A changed one may be
// unreadable.
func changePod(t *testing.T, s *informertest.Server, rnd *rand.Rand, step int) {
	t.Helper()
	name := fmt.Sprint("pod-", rnd.IntN(20))
	_, err := s.Get(podResource, "default", name)
	switch {
	case err != nil:
		createPod(t, s, "default", name)
	case rnd.IntN(4) == 0:
		require.NoError(t, s.Delete(podResource, "default", name))
	default:
		require.NoError(t, s.Modify(podResource, "default", name, func(u *unstructured.Unstructured) {
			u.SetLabels(map[string]string{"n": fmt.Sprint(step)})
			delete(u.Object, "spec")
			if rnd.IntN(10) == 0 {
				u.Object["spec"] = "unreadable"
			}
		}))
	}
}

// mendPods makes the pods readable that are not.
func mendPods(t *testing.T, s *informertest.Server) {
	t.Helper()
	objs, err := s.List(podResource, "", nil)
	require.NoError(t, err)
	for _, o := range objs {
		if _, unreadable := o.Object["spec"].(string); unreadable {
			require.NoError(t, s.Modify(podResource, o.GetNamespace(), o.GetName(), func(u *unstructured.Unstructured) {
				delete(u.Object, "spec")
			}))
		}
	}
}

func TestWritesAreReadAfterTheVersionsBeganAnew(t *testing.T) {
	t.Parallel()
	inFactory(t, FactoryOptions{}, func(t *testing.T, s *informertest.Server, fac *Factory) {
		fac.Start(t.Context())
		pods, err := For(fac, ForOptions[*pod]{})
		require.NoError(t, err)
		for i := range 200 {
			createPod(t, s, "default", fmt.Sprint("old-", i))
			require.NoError(t, s.Delete(podResource, "default", fmt.Sprint("old-", i)))
		}
		require.NoError(t, pods.WaitForResourceVersion(t.Context(), s.ResourceVersion()))
		require.NoError(t, s.RestartWithNewHistory())
		time.Sleep(10 * time.Minute)
		createPod(t, s, "default", "new")
		require.NoError(t, pods.WaitForResourceVersion(t.Context(), s.ResourceVersion()))
		_, err = pods.Lister().Get(objKey("default", "new"))
		require.NoError(t, err)
	})
}
