package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/reflector"
)

// uninstall is a custom resource with two objects, a and b, in two caches: the program needs the kind of the first,
// and works without that of the second.
type uninstall struct {
	*testing.T
	client    dynamic.Interface
	namespace string
	gvk       schema.GroupVersionKind
	gvr       schema.GroupVersionResource
	network   gate
	factory   *informer.Factory
	caches    []informer.Shared[*unstructured.Unstructured]

	mu      sync.Mutex
	deleted map[string]informer.Origin // by name
}

// newUninstall installs the definition, with v1 and v2.
func newUninstall(t *testing.T) *uninstall {
	t.Helper()
	cp := shared(t)
	namespace := newNamespace(t, clientFor(t, cp)) // the name is unique, so the group is as well
	u := &uninstall{T: t, namespace: namespace, deleted: map[string]informer.Origin{}}
	u.gvk = schema.GroupVersionKind{Group: namespace + ".informerkit.test", Version: "v1", Kind: "Gone"}
	u.gvr = u.gvk.GroupVersion().WithResource("gones")
	var err error
	u.client, err = dynamic.NewForConfig(cp.Config())
	require.NoError(t, err)
	u.install("a", "b")
	u.factory, err = informer.NewFactory(u.network.through(cp.Config()), informer.FactoryOptions{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, u.factory.Shutdown(context.Background()))
	})
	u.factory.Start(ctx)
	for _, opts := range []informer.ForOptions[*unstructured.Unstructured]{{}, {Variant: "optional", Optional: true}} {
		opts.Resource = u.gvr
		inf, err := informer.For(u.factory, opts)
		require.NoError(t, err)
		u.caches = append(u.caches, inf)
	}
	u.deletions(u.caches[0])
	u.sees("a", "b")
	return u
}

// deletions notes the deletions that an informer reports.
func (u *uninstall) deletions(of informer.Shared[*unstructured.Unstructured]) {
	u.Helper()
	_, err := of.AddHandler(informer.HandlerFunc[*unstructured.Unstructured](func(e informer.Event[*unstructured.Unstructured]) {
		u.mu.Lock()
		defer u.mu.Unlock()
		if e.Type == informer.Deleted {
			u.deleted[e.Key.Name] = e.Origin
		}
	}))
	require.NoError(u, err)
}

// install creates the definition, and objects as soon as that is possible.
func (u *uninstall) install(names ...string) {
	u.Helper()
	def := definition(u.gvk.Group, u.gvk.Kind, u.gvr.Resource)
	versions, _, err := unstructured.NestedSlice(def.Object, "spec", "versions")
	require.NoError(u, err)
	v2 := maps.Clone(versions[0].(map[string]any))
	v2["name"], v2["storage"] = "v2", false
	require.NoError(u, unstructured.SetNestedSlice(def.Object, append(versions, v2), "spec", "versions"))
	_, err = u.client.Resource(crdResource).Create(u.Context(), def, metav1.CreateOptions{})
	require.NoError(u, err)
	for _, name := range names {
		eventually(u.T, func() error {
			_, err := u.client.Resource(u.gvr).Namespace(u.namespace).Create(u.Context(), widget(u.gvk, name), metav1.CreateOptions{})
			return err
		})
	}
}

// remove deletes the definition, and waits until it and its objects are deleted.
func (u *uninstall) remove() {
	u.Helper()
	name := u.gvr.Resource + "." + u.gvr.Group
	require.NoError(u, u.client.Resource(crdResource).Delete(u.Context(), name, metav1.DeleteOptions{}))
	eventually(u.T, func() error {
		_, err := u.client.Resource(crdResource).Get(u.Context(), name, metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("the definition is not deleted: %w", err)
		}
		return nil
	})
}

// serve changes whether v1 is served.
func (u *uninstall) serve(served bool) {
	u.Helper()
	patch := fmt.Sprintf(`[{"op": "replace", "path": "/spec/versions/0/served", "value": %t}]`, served)
	_, err := u.client.Resource(crdResource).Patch(u.Context(), u.gvr.Resource+"."+u.gvr.Group, types.JSONPatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(u, err)
}

// sees waits until both caches contain exactly these objects, as the server does, and the kind is ready.
func (u *uninstall) sees(names ...string) {
	u.Helper()
	eventually(u.T, func() error {
		for _, inf := range u.caches {
			var have []string
			for o := range inf.Snapshot().All() {
				have = append(have, o.GetName())
			}
			if len(have) != len(names) || !assert.ElementsMatch(new(testing.T), names, have) {
				return fmt.Errorf("the cache contains %v, not %v", have, names)
			}
		}
		return u.factory.Ready()
	})
}

// degraded waits until both informers report the 404 of the server, and Ready does.
func (u *uninstall) degraded() {
	u.Helper()
	for _, inf := range u.caches {
		eventually(u.T, func() error {
			h := inf.Health().Sources[0].Reflector
			if h.State != reflector.StateDegraded || h.LastErrorClass != reflector.ClassNotFound {
				return fmt.Errorf("it is %s: %w", h.State, h.LastError)
			}
			return nil
		})
		assert.ErrorContains(u, inf.Health().Sources[0].Reflector.LastError, "404 page not found")
		eventually(u.T, func() error {
			if err := inf.Ready(); err == nil {
				return errors.New("it is ready")
			}
			return nil
		})
		assert.ErrorContains(u, inf.Ready(), "404 page not found", "not for ten minutes, optional or not")
	}
}

// origins returns the deletions that the handler has got.
func (u *uninstall) origins() map[string]informer.Origin {
	u.mu.Lock()
	defer u.mu.Unlock()
	return maps.Clone(u.deleted)
}

// cannotTell checks that the objects are still in the caches, and that no deletion is claimed.
func (u *uninstall) cannotTell() {
	u.Helper()
	ctx, cancel := context.WithTimeout(u.Context(), patience)
	defer cancel()
	for _, inf := range u.caches {
		assert.Equal(u, 2, inf.Snapshot().Len())
		err := inf.WaitForDeleted(ctx, types.NamespacedName{Namespace: u.namespace, Name: "a"}, "")
		require.ErrorContains(u, err, "404 page not found")
		require.NotErrorIs(u, err, context.DeadlineExceeded)
	}
	assert.Empty(u, u.origins())
}

// The server deletes the objects of a definition before it responds with 404. The watch delivers that.
func TestAnUninstallThatIsSeenDeletesWhatTheWatchDeletes(t *testing.T) {
	t.Parallel()
	u := newUninstall(t)
	u.remove()
	u.degraded()
	assert.Equal(t, map[string]informer.Origin{"a": informer.Watch, "b": informer.Watch}, u.origins())
	assert.Zero(t, u.caches[0].Snapshot().Len())
	require.NoError(t, u.caches[0].WaitForDeleted(t.Context(), types.NamespacedName{Namespace: u.namespace, Name: "a"}, ""))

	u.install("c")
	u.sees("c")
}

// An informer that was disconnected meanwhile gets a 404, which proves nothing. The list after the next
// installation does.
func TestAnUninstallThatIsMissedDeletesNothingBeforeTheNextList(t *testing.T) {
	t.Parallel()
	u := newUninstall(t)
	u.network.cut()
	u.remove()
	u.network.heal()
	u.degraded()
	u.cannotTell()

	u.install("b", "c")
	u.sees("b", "c")
	assert.Equal(t, informer.Relist, u.origins()["a"])
	require.NoError(t, u.caches[0].WaitForDeleted(t.Context(), types.NamespacedName{Namespace: u.namespace, Name: "a"}, ""))
}

// A version that is not served anymore is not a deletion: the objects exist in another version.
func TestAVersionThatIsNotServedDeletesNothing(t *testing.T) {
	t.Parallel()
	u := newUninstall(t)
	follows, err := informer.For(u.factory, informer.ForOptions[*unstructured.Unstructured]{Kind: u.gvk})
	require.NoError(t, err)
	u.deletions(follows)
	u.sees("a", "b")
	u.serve(false)
	u.degraded()
	u.cannotTell()
	eventually(t, follows.Ready) // it reads v2
	assert.Equal(t, 2, follows.Snapshot().Len())

	// An informer that is released meanwhile leaves nothing behind.
	u.caches[1].Release()
	<-u.caches[1].Done()
	u.caches = u.caches[:1]

	v2 := u.gvr
	v2.Version = "v2"
	_, err = u.client.Resource(v2).Namespace(u.namespace).Get(t.Context(), "a", metav1.GetOptions{})
	require.NoError(t, err)

	u.serve(true)
	u.sees("a", "b")
	assert.Empty(t, u.origins())
}
