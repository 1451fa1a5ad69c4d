package informer

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/internal/verify/scripted"
	"github.com/informerkit/informerkit/reflector"
)

var (
	podKind    = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	widgetKind = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
	crdKind    = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
	crds       = schema.GroupVersionResource{Group: crdKind.Group, Version: "v1", Resource: "customresourcedefinitions"}
)

type untyped = *unstructured.Unstructured

// object returns an object of a kind.
func objectOf(gvk schema.GroupVersionKind, namespace, name string, fields map[string]any) untyped {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	for k, v := range fields {
		u.Object[k] = v
	}
	u.SetGroupVersionKind(gvk)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

// widgetDefinition returns the CustomResourceDefinition of Widget.
func widgetDefinition() untyped {
	return objectOf(crdKind, "", "widgets.example.com", map[string]any{"spec": map[string]any{
		"group": "example.com", "scope": "Namespaced",
		"names": map[string]any{"kind": "Widget", "listKind": "WidgetList", "plural": "widgets", "singular": "widget"},
		"versions": []any{map[string]any{
			"name": "v1", "served": true, "storage": true,
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
		}},
	}})
}

// inFactory runs f in a bubble with a server in memory and a factory for it.
func inFactory(t *testing.T, opts FactoryOptions, f func(t *testing.T, s *informertest.Server, fac *Factory)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := informertest.Start(t, informertest.Options{InMemory: true, Scheme: scripted.CoreTypes()})
		opts.Scheme = runtime.NewScheme()
		require.NoError(t, corev1.AddToScheme(opts.Scheme))
		fac, err := NewFactory(s.Config(), opts)
		require.NoError(t, err)
		f(t, s, fac)
		require.NoError(t, fac.Shutdown(t.Context()))
		s.Close()
	})
}

func createPod(t *testing.T, s *informertest.Server, namespace, name string) {
	t.Helper()
	require.NoError(t, s.Create(objectOf(podKind, namespace, name, map[string]any{
		"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": "i"}}},
	})))
}

func TestFactorySharesAnInformerUntilItsLastRelease(t *testing.T) {
	t.Parallel()
	inFactory(t, FactoryOptions{}, func(t *testing.T, s *informertest.Server, fac *Factory) {
		createPod(t, s, "default", "x")
		one, err := For(fac, ForOptions[*pod]{})
		require.NoError(t, err)
		two, err := For(fac, ForOptions[*pod]{})
		require.NoError(t, err)
		assert.Same(t, cacheOf(one), cacheOf(two))
		other, err := For(fac, ForOptions[*pod]{LabelSelector: "a=b"})
		require.NoError(t, err)
		assert.NotSame(t, cacheOf(one), cacheOf(other))

		fac.Start(t.Context())
		fac.Start(t.Context()) // has no effect
		require.NoError(t, fac.WaitForSync(t.Context()))
		assert.Equal(t, 1, one.Snapshot().Len())
		assert.Equal(t, 0, other.Snapshot().Len())

		one.Release()
		one.Release()
		synctest.Wait()
		assert.False(t, one.Health().Stopped, "it is still in use")
		two.Release()
		<-two.Done()

		again, err := For(fac, ForOptions[*pod]{})
		require.NoError(t, err)
		assert.NotSame(t, cacheOf(one), cacheOf(again))
		require.NoError(t, fac.WaitForSync(t.Context()), "it was started at once")
		_, err = again.Lister().Get(objKey("default", "y"))
		assert.EqualError(t, err, `pods "y" not found`)
	})
}

func TestFactoryServesTypedUntypedAndMetadata(t *testing.T) {
	t.Parallel()
	inFactory(t, FactoryOptions{}, func(t *testing.T, s *informertest.Server, fac *Factory) {
		createPod(t, s, "default", "x")
		fac.Start(t.Context())
		typed, err := For(fac, ForOptions[*pod]{})
		require.NoError(t, err)
		free, err := For(fac, ForOptions[untyped]{Kind: podKind})
		require.NoError(t, err)
		meta, err := For(fac, ForOptions[*metav1.PartialObjectMetadata]{Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}})
		require.NoError(t, err)
		require.NoError(t, fac.WaitForSync(t.Context()))
		for _, snap := range []interface{ Len() int }{typed.Snapshot(), free.Snapshot(), meta.Snapshot()} {
			assert.Equal(t, 1, snap.Len())
		}
	})
}

func TestFactoryReadsOnlyItsNamespaces(t *testing.T) {
	t.Parallel()
	inFactory(t, FactoryOptions{Namespaces: []string{"b", "a", "b"}}, func(t *testing.T, s *informertest.Server, fac *Factory) {
		for _, ns := range []string{"a", "b", "c"} {
			createPod(t, s, ns, "x")
		}
		fac.Start(t.Context())
		pods, err := For(fac, ForOptions[*pod]{})
		require.NoError(t, err)
		spaces, err := For(fac, ForOptions[*corev1.Namespace]{Whole: true})
		require.NoError(t, err)
		wrong, err := For(fac, ForOptions[*corev1.Namespace]{})
		require.NoError(t, err)
		require.NoError(t, WaitForSync(t.Context(), pods, spaces))
		assert.Equal(t, 2, pods.Snapshot().Len())
		assert.GreaterOrEqual(t, spaces.Snapshot().Len(), 3)
		synctest.Wait()
		assert.ErrorContains(t, wrong.Unsynced(), "Whole")
	})
}

func TestMissingResourceIsWaitedForAndAGoneOneKeepsTheCache(t *testing.T) {
	t.Parallel()
	inFactory(t, FactoryOptions{}, func(t *testing.T, s *informertest.Server, fac *Factory) {
		fac.Start(t.Context())
		widgets, err := For(fac, ForOptions[untyped]{Kind: widgetKind})
		require.NoError(t, err)
		time.Sleep(time.Hour)
		synctest.Wait()
		assert.False(t, widgets.HasSynced())
		assert.ErrorContains(t, widgets.Unsynced(), "CustomResourceDefinition")

		for round := range 3 {
			definition := widgetDefinition()
			require.NoError(t, s.Create(definition))
			name := fmt.Sprint("w", round)
			require.NoError(t, s.Create(objectOf(widgetKind, "default", name, nil)))
			time.Sleep(absentSlow + time.Second)
			synctest.Wait()
			assert.True(t, widgets.HasSynced())
			_, err := widgets.Lister().Get(objKey("default", name))
			require.NoError(t, err)
			assert.Equal(t, 1, widgets.Snapshot().Len(), "the list found that the object of the last round was deleted")

			s.BreakConnections() // so that no watch reports the deletion of the objects
			require.NoError(t, s.Delete(crds, "", "widgets.example.com"))
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			assert.Equal(t, 1, widgets.Snapshot().Len(), "a 404 proves nothing")
		}
	})
}

func TestServerThatForgetsAResourceForAWhileDoesNotEmptyTheCache(t *testing.T) {
	t.Parallel()
	inFactory(t, FactoryOptions{}, func(t *testing.T, s *informertest.Server, fac *Factory) {
		createPod(t, s, "default", "x")
		fac.Start(t.Context())
		pods, err := For(fac, ForOptions[*pod]{})
		require.NoError(t, err)
		require.NoError(t, fac.WaitForSync(t.Context()))
		remove := s.Inject(informertest.Fault{
			Resource: "pods", Times: -1, Effect: informertest.Respond(404, "text/plain", "404 page not found"),
		})
		s.BreakConnections()
		time.Sleep(time.Hour)
		synctest.Wait()
		assert.Equal(t, 1, pods.Snapshot().Len())
		remove()
		createPod(t, s, "default", "y")
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, 2, pods.Snapshot().Len())
	})
}

func TestShutdownWaitsForHandlersWithinItsContext(t *testing.T) {
	t.Parallel()
	inFactory(t, FactoryOptions{}, func(t *testing.T, s *informertest.Server, fac *Factory) {
		createPod(t, s, "default", "x")
		pods, err := For(fac, ForOptions[*pod]{})
		require.NoError(t, err)
		gate := make(chan struct{})
		_, err = pods.AddHandler(HandlerFunc[*pod](func(Event[*pod]) { <-gate }), HandlerOptions{})
		require.NoError(t, err)
		fac.Start(t.Context())
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, fac.Shutdown(ctx), context.DeadlineExceeded)
		close(gate)
		require.NoError(t, fac.Shutdown(t.Context()))
		_, err = For(fac, ForOptions[*pod]{})
		require.ErrorIs(t, err, ErrStopped)
		fac.Start(t.Context()) // has no effect
	})
}

func TestImpossibleFactoryOptionsAreErrors(t *testing.T) {
	t.Parallel()
	inFactory(t, FactoryOptions{}, func(t *testing.T, s *informertest.Server, fac *Factory) {
		_, err := NewFactory(nil, FactoryOptions{})
		require.Error(t, err)
		_, err = NewFactory(s.Config(), FactoryOptions{Namespaces: []string{""}})
		require.Error(t, err)
		pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
		for name, opts := range map[string]ForOptions[untyped]{
			"both":            {Kind: podKind, Resource: pods},
			"none":            {},
			"version only":    {Resource: schema.GroupVersionResource{Version: "v1"}},
			"resource garble": {Resource: schema.GroupVersionResource{Resource: "pods"}},
		} {
			u, err := For(fac, opts)
			if name == "resource garble" { // found out by the request
				require.NoError(t, err)
				fac.Start(t.Context())
				synctest.Wait()
				require.Error(t, u.Unsynced())
				continue
			}
			require.Error(t, err, name)
		}
		drop := func(p *pod) (*pod, error) { return p, nil }
		_, err = For(fac, ForOptions[*pod]{Transform: drop})
		require.NoError(t, err)
		_, err = For(fac, ForOptions[*pod]{Transform: drop})
		require.ErrorContains(t, err, "Variant", "functions cannot be compared")
		_, err = For(fac, ForOptions[*pod]{})
		require.NoError(t, err)
		two, err := For(fac, ForOptions[*pod]{Variant: "2", Transform: drop})
		require.NoError(t, err)
		same, err := For(fac, ForOptions[*pod]{Variant: "2", Transform: drop})
		require.NoError(t, err, "the Variant says that it is the same one")
		assert.Same(t, cacheOf(two), cacheOf(same))
	})
}

func TestInformerThatHasFailedIsReplaced(t *testing.T) {
	t.Parallel()
	stop := func(reflector.Failure) reflector.Decision { return reflector.Stop() }
	inFactory(t, FactoryOptions{Reflector: reflector.Options{Policy: stop}}, func(t *testing.T, s *informertest.Server, fac *Factory) {
		remove := s.Inject(informertest.Fault{Times: -1, Effect: informertest.Respond(403, "text/plain", "no")})
		fac.Start(t.Context())
		failed, err := For(fac, ForOptions[*pod]{})
		require.NoError(t, err)
		<-failed.Done()
		remove()
		again, err := For(fac, ForOptions[*pod]{})
		require.NoError(t, err)
		require.NoError(t, WaitForSync(t.Context(), again))
		failed.Release()
		same, err := For(fac, ForOptions[*pod]{})
		require.NoError(t, err)
		assert.Same(t, cacheOf(again), cacheOf(same), "the release of the one that failed concerns that one")
	})
}

func TestInformersOfAFactoryHaveDifferentNames(t *testing.T) {
	t.Parallel()
	inFactory(t, FactoryOptions{Namespaces: []string{"a"}}, func(t *testing.T, _ *informertest.Server, fac *Factory) {
		typed, err := For(fac, ForOptions[*pod]{})
		require.NoError(t, err)
		all, err := For(fac, ForOptions[*pod]{Whole: true})
		require.NoError(t, err)
		free, err := For(fac, ForOptions[untyped]{Kind: podKind})
		require.NoError(t, err)
		meta, err := For(fac, ForOptions[*metav1.PartialObjectMetadata]{Kind: podKind, LabelSelector: "a=b"})
		require.NoError(t, err)
		assert.Equal(t, []string{"Pod", "Pod/whole", "Pod/unstructured", "Pod/metadata/a=b"},
			[]string{typed.Name(), all.Name(), free.Name(), meta.Name()})
	})
}

// Reading the cache does not wait for the server, not even to name the resource of
// what is not found.
func TestListerDoesNotWaitForDiscovery(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 1)
	server := &scripted.Server{List: func(_ http.ResponseWriter, r *http.Request, _ int) {
		select {
		case asked <- struct{}{}:
		default:
		}
		scripted.Hang(r)
	}}
	fac, err := NewFactory(server.Config(t), FactoryOptions{})
	require.NoError(t, err)
	widgets, err := For(fac, ForOptions[untyped]{Kind: widgetKind})
	require.NoError(t, err)
	fac.Start(t.Context())
	<-asked
	answer := make(chan error, 1)
	go func() {
		_, err := widgets.Lister().Get(objKey("default", "w"))
		answer <- err
	}()
	select {
	case err := <-answer:
		assert.EqualError(t, err, `Widget.example.com "w" not found`)
	case <-time.After(10 * time.Second):
		assert.Fail(t, "the lister waits for the server")
	}
	require.NoError(t, fac.Shutdown(t.Context()))
}

func TestFactoryShowsTheHealthOfWhatIsInUse(t *testing.T) {
	t.Parallel()
	inFactory(t, FactoryOptions{}, func(t *testing.T, s *informertest.Server, fac *Factory) {
		assert.Empty(t, fac.Health())
		createPod(t, s, "default", "a")
		pods, err := For(fac, ForOptions[*pod]{})
		require.NoError(t, err)
		nodes, err := For(fac, ForOptions[*metav1.PartialObjectMetadata]{Resource: schema.GroupVersionResource{Version: "v1", Resource: "nodes"}})
		require.NoError(t, err)
		names := func() (all []string) {
			for _, h := range fac.Health() {
				all = append(all, h.Name)
			}
			return all
		}
		assert.Equal(t, []string{pods.Name(), nodes.Name()}, names())
		assert.False(t, fac.Health()[0].Synced, "before Start, too")
		fac.Start(t.Context())
		require.NoError(t, fac.WaitForSync(t.Context()))
		assert.Equal(t, 1, fac.Health()[0].Objects)
		pods.Release()
		assert.Equal(t, []string{nodes.Name()}, names())
		nodes.Release()
		assert.Empty(t, fac.Health())
	})
}

func TestStartAfterShutdownStartsNothing(t *testing.T) {
	t.Parallel()
	inFactory(t, FactoryOptions{}, func(t *testing.T, _ *informertest.Server, fac *Factory) {
		pods, err := For(fac, ForOptions[*pod]{})
		require.NoError(t, err)
		require.NoError(t, fac.Shutdown(t.Context()))
		fac.Start(t.Context())
		synctest.Wait()
		assert.ErrorContains(t, pods.Unsynced(), "not running")
	})
}

// cacheOf returns the informer that a reference is to.
func cacheOf[T Object](s Shared[T]) Cache[T] { return s.(*reference[T]).Cache }
