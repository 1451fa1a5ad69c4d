package informer

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/reflector"
)

func TestNamespacesOfAFactoryComeAndGo(t *testing.T) {
	t.Parallel()
	inFactory(t, FactoryOptions{ByNamespace: true}, func(t *testing.T, s *informertest.Server, fac *Factory) {
		createPod(t, s, "a", "x")
		createPod(t, s, "b", "x")
		fac.Start(t.Context())
		pods, err := For[*pod](fac)
		require.NoError(t, err)
		require.NoError(t, fac.WaitForSync(t.Context()))
		assert.Zero(t, pods.Snapshot().Len(), "it reads no namespace yet")
		has := func(want ...types.NamespacedName) {
			t.Helper()
			synctest.Wait()
			assert.Equal(t, len(want), pods.Snapshot().Len())
			for _, key := range want {
				_, ok := pods.Snapshot().Get(key)
				assert.True(t, ok, key)
			}
		}
		require.NoError(t, fac.AddNamespace("a"))
		time.Sleep(time.Second)
		has(objKey("a", "x"))
		require.ErrorContains(t, fac.AddNamespace("a"), "before")
		require.NoError(t, fac.AddNamespace("b"))
		time.Sleep(time.Second)
		has(objKey("a", "x"), objKey("b", "x"))
		assert.True(t, fac.RemoveNamespace("a"))
		assert.False(t, fac.RemoveNamespace("a"))
		has(objKey("b", "x"))
		labelled, err := For(fac, ForOptions[*pod]{LabelSelector: "none=such"})
		require.NoError(t, err)
		require.NoError(t, WaitForSync(t.Context(), labelled))
		require.ErrorContains(t, fac.AddNamespace(""), "empty")
		require.NoError(t, fac.Shutdown(t.Context()))
		require.ErrorIs(t, fac.AddNamespace("c"), ErrStopped)
	})
	whole, err := NewFactory(&rest.Config{}, FactoryOptions{})
	require.NoError(t, err)
	require.ErrorContains(t, whole.AddNamespace("a"), "ByNamespace")
}

func TestTheBoundsOfAFactoryAndOfForApply(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		factory FactoryOptions
		own     ForOptions[*pod]
		want    string
	}{
		"object, factory":     {FactoryOptions{MaxObjectSize: 10}, ForOptions[*pod]{}, "more than 10 bytes"},
		"object, own":         {FactoryOptions{MaxObjectSize: 1 << 20}, ForOptions[*pod]{MaxObjectSize: 10}, "more than 10 bytes"},
		"collection, factory": {FactoryOptions{MaxObjects: 1}, ForOptions[*pod]{}, "more than 1 objects"},
		"bytes, own":          {FactoryOptions{}, ForOptions[*pod]{MaxBytes: 20}, "more than 20 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			inFactory(t, c.factory, func(t *testing.T, s *informertest.Server, fac *Factory) {
				createPod(t, s, "default", "a")
				createPod(t, s, "default", "b")
				pods, err := For(fac, c.own)
				require.NoError(t, err)
				fac.Start(t.Context())
				time.Sleep(time.Second)
				assert.False(t, pods.HasSynced())
				require.ErrorContains(t, pods.Health().Sources[0].Reflector.LastError, c.want)
			})
		})
	}
}

func TestFactoryHasDefaultsForItsInformers(t *testing.T) {
	t.Parallel()
	var selectors []string
	opts := FactoryOptions{
		ResyncPeriod: time.Minute,
		Transform: func(obj Object) error {
			obj.SetAnnotations(map[string]string{"order": "1"})
			return nil
		},
		TweakListOptions: func(o *metav1.ListOptions) {
			o.LabelSelector = "app=x"
			selectors = append(selectors, o.LabelSelector)
		},
	}
	inFactory(t, opts, func(t *testing.T, s *informertest.Server, fac *Factory) {
		labelled := objectOf(podKind, "default", "in", map[string]any{
			"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": "i"}}},
		})
		labelled.SetLabels(map[string]string{"app": "x"})
		require.NoError(t, s.Create(labelled))
		createPod(t, s, "default", "out")
		m := &recorder{}
		pods, err := For(fac, ForOptions[*pod]{
			Name: "mine", Metrics: m, QueueLimit: 3, Reflector: reflector.Options{Name: "own"},
			Transform: func(p *pod) (*pod, error) { p.Annotations["order"] += "2"; return p, nil },
		})
		require.NoError(t, err)
		var mu sync.Mutex // handlers run beside each other
		resyncs := map[string]int{}
		count := func(name string) Handler[*pod] {
			return HandlerFunc[*pod](func(e Event[*pod]) {
				if e.Origin == Resync {
					mu.Lock()
					defer mu.Unlock()
					resyncs[name]++
				}
			})
		}
		_, err = pods.AddHandler(count("default"))
		require.NoError(t, err)
		_, err = pods.AddHandler(count("own"), HandlerOptions{ResyncPeriod: 30 * time.Second})
		require.NoError(t, err)
		_, err = pods.AddHandler(count("none"), HandlerOptions{NoResync: true})
		require.NoError(t, err)
		_, err = pods.AddHandler(count("both"), HandlerOptions{NoResync: true, ResyncPeriod: time.Second})
		require.ErrorContains(t, err, "NoResync")
		_, err = pods.AddHandler(count("two"), HandlerOptions{}, HandlerOptions{})
		require.ErrorContains(t, err, "one at most")
		fac.Start(t.Context())
		require.NoError(t, fac.WaitForSync(t.Context()))
		time.Sleep(10*time.Minute + time.Second)
		synctest.Wait()
		// An object has a time of its own in each period, which may come once more.
		assert.InDelta(t, 10, resyncs["default"], 1)
		assert.InDelta(t, 20, resyncs["own"], 1)
		assert.Zero(t, resyncs["none"])
		got, err := pods.Lister().Get(objKey("default", "in"))
		require.NoError(t, err)
		assert.Equal(t, "12", got.Annotations["order"])
		assert.Equal(t, 1, pods.Snapshot().Len())
		assert.NotEmpty(t, selectors)
		assert.Equal(t, "mine", m.name)
	})
	_, err := NewFactory(&rest.Config{}, FactoryOptions{ResyncPeriod: time.Millisecond})
	require.ErrorContains(t, err, "ResyncPeriod")
	_, err = New(newCluster().source(), Options[*pod]{ResyncPeriod: -1})
	require.ErrorContains(t, err, "ResyncPeriod")
	_, err = NewFactory(&rest.Config{}, FactoryOptions{ResyncPeriod: minResyncStep})
	require.NoError(t, err)
	_, err = New(newCluster().source(), Options[*pod]{ResyncPeriod: minResyncStep})
	require.NoError(t, err)
}

func TestSelectorsAreCheckedWhenAskedFor(t *testing.T) {
	t.Parallel()
	inFactory(t, FactoryOptions{}, func(t *testing.T, _ *informertest.Server, fac *Factory) {
		_, err := For(fac, ForOptions[*pod]{LabelSelector: "a in"})
		require.ErrorContains(t, err, "LabelSelector")
		_, err = For(fac, ForOptions[*pod]{FieldSelector: "no selector"})
		require.ErrorContains(t, err, "FieldSelector")
		_, err = For(fac, ForOptions[*pod]{}, ForOptions[*pod]{})
		require.ErrorContains(t, err, "one at most")
		_, err = For[*pod](nil)
		require.ErrorContains(t, err, "NewFactory")
	})
}

func TestSharedInformerCannotBeStoppedByAHolder(t *testing.T) {
	t.Parallel()
	inFactory(t, FactoryOptions{}, func(t *testing.T, _ *informertest.Server, fac *Factory) {
		pods, err := For[*pod](fac)
		require.NoError(t, err)
		_, runs := any(pods).(interface{ Run(context.Context) error })
		assert.False(t, runs)
		_, removes := any(pods).(interface{ RemoveNamespace(string) bool })
		assert.False(t, removes)
	})
}

// The factory's Transform comes first, with or without another one, and what it refuses does
// not get to the second.
func TestTransformOfAFactoryComesFirst(t *testing.T) {
	t.Parallel()
	var second []string
	opts := FactoryOptions{Transform: func(obj Object) error {
		obj.SetLabels(map[string]string{"seen": "once"})
		if obj.GetName() == "refused" {
			return errors.New("no")
		}
		return nil
	}}
	inFactory(t, opts, func(t *testing.T, s *informertest.Server, fac *Factory) {
		createPod(t, s, "default", "refused")
		createPod(t, s, "default", "taken")
		alone, err := For[*pod](fac)
		require.NoError(t, err)
		both, err := For(fac, ForOptions[*pod]{Variant: "both", Transform: func(p *pod) (*pod, error) {
			second = append(second, p.Name+" "+p.Labels["seen"])
			return p, nil
		}})
		require.NoError(t, err)
		fac.Start(t.Context())
		require.NoError(t, fac.WaitForSync(t.Context()))
		for _, inf := range []Shared[*pod]{alone, both} {
			p, ok := inf.Snapshot().Get(objKey("default", "taken"))
			require.True(t, ok)
			assert.Equal(t, "once", p.Labels["seen"])
			assert.Equal(t, 1, inf.Snapshot().Len())
		}
		assert.Equal(t, []string{"taken once"}, second)
	})
}

func TestReflectorOptionsOfAnInformerInheritOnlyThePolicy(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex // two reflectors may ask at once
	asked := map[string]int{}
	policy := func(name string) func(reflector.Failure) reflector.Decision {
		return func(reflector.Failure) reflector.Decision {
			mu.Lock()
			defer mu.Unlock()
			asked[name]++
			return reflector.Stop()
		}
	}
	inFactory(t, FactoryOptions{Reflector: reflector.Options{Policy: policy("factory")}}, func(t *testing.T, s *informertest.Server, fac *Factory) {
		s.Inject(informertest.Fault{Resource: "pods", Times: -1, Effect: informertest.Respond(403, "text/plain", "no")})
		for variant, opts := range map[string]reflector.Options{"inherits": {Name: "own"}, "has one": {Policy: policy("informer")}} {
			_, err := For(fac, ForOptions[*pod]{Variant: variant, Reflector: opts})
			require.NoError(t, err)
		}
		fac.Start(t.Context())
		synctest.Wait()
		assert.Equal(t, map[string]int{"factory": 1, "informer": 1}, asked)
	})
}

func TestNamespacesComeWithoutAnInformerThatHasStopped(t *testing.T) {
	t.Parallel()
	inFactory(t, FactoryOptions{ByNamespace: true}, func(t *testing.T, s *informertest.Server, fac *Factory) {
		remove := s.Inject(informertest.Fault{Resource: "pods", Times: -1, Effect: informertest.Respond(403, "text/plain", "no")})
		stops, err := For(fac, ForOptions[*pod]{Variant: "stops", Reflector: reflector.Options{
			Policy: func(reflector.Failure) reflector.Decision { return reflector.Stop() },
		}})
		require.NoError(t, err)
		fac.Start(t.Context())
		require.NoError(t, fac.AddNamespace("a"))
		<-stops.Done()
		remove()
		require.NoError(t, fac.AddNamespace("b"))
	})
}
