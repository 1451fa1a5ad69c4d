package client_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/informer/client"
)

// Promise client/3
func TestModifyTriesAgainAfterAConflict(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c, _ := connect[*corev1.ConfigMap](t, configMaps, client.Options{})
	made, err := c.Create(ctx, configMap("c"))
	require.NoError(t, err)
	key, calls := client.KeyOf(made), 0
	interfere := func(times int) func(*corev1.ConfigMap) error {
		calls = 0
		return func(m *corev1.ConfigMap) error {
			if calls++; calls <= times {
				_, err := c.Patch(ctx, key, types.MergePatchType, fmt.Appendf(nil, `{"data":{"other":"%d-%d"}}`, times, calls))
				require.NoError(t, err)
			}
			if m.Data == nil {
				m.Data = map[string]string{}
			}
			m.Data["own"] = fmt.Sprint(times)
			return nil
		}
	}
	got, err := c.Modify(ctx, key, interfere(2))
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"own": "2", "other": "2-2"}, got.Data, "nothing of the other writer is lost")
	assert.Equal(t, 3, calls)

	_, err = c.Modify(ctx, key, interfere(100))
	assert.True(t, apierrors.IsConflict(err), "it gives up: %v", err)
	assert.Equal(t, 6, calls)

	before := got.ResourceVersion
	got, err = c.Get(ctx, key)
	require.NoError(t, err)
	assert.NotEqual(t, before, got.ResourceVersion)
	same, err := c.Modify(ctx, key, func(*corev1.ConfigMap) error { return nil })
	require.NoError(t, err)
	assert.Equal(t, got.ResourceVersion, same.ResourceVersion, "what is unchanged is not written")
	_, err = c.Modify(ctx, key, func(*corev1.ConfigMap) error { return assert.AnError })
	require.ErrorIs(t, err, assert.AnError)
	_, err = c.Modify(ctx, key, func(m *corev1.ConfigMap) error { m.Name = "x"; return nil })
	require.ErrorContains(t, err, "renamed default/c to default/x")
	_, err = c.Modify(ctx, types.NamespacedName{Namespace: "default", Name: "none"}, func(*corev1.ConfigMap) error { return nil })
	assert.True(t, apierrors.IsNotFound(err))

	cancelled, cancel := context.WithCancel(ctx)
	_, err = c.Modify(cancelled, key, func(m *corev1.ConfigMap) error {
		err := interfere(100)(m)
		cancel()
		return err
	})
	require.ErrorIs(t, err, context.Canceled)
}

// Promise client/3
func TestModifyOfTheStatus(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c, _ := connect[*corev1.Pod](t, pods, client.Options{})
	_, err := c.Create(ctx, pod("p"))
	require.NoError(t, err)
	got, err := c.Status().Modify(ctx, types.NamespacedName{Namespace: "default", Name: "p"}, func(p *corev1.Pod) error {
		p.Status.Message = "hello"
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, "hello", got.Status.Message)
}

// A cache that is behind has an object that is gone. Another one has its name, and is none of the change's business.
func TestModifyFromLeavesAnotherObjectOfTheNameAlone(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c, server := connect[*corev1.ConfigMap](t, configMaps, client.Options{})
	old := configMap("c")
	old.Finalizers = []string{"example.com/hold"}
	old, err := c.Create(ctx, old)
	require.NoError(t, err)
	require.NoError(t, server.Modify(configMaps, "default", "c", func(u *unstructured.Unstructured) { u.SetFinalizers(nil) }))
	require.NoError(t, server.Delete(configMaps, "default", "c"))
	fresh := configMap("c")
	fresh.Finalizers = []string{"example.com/hold"}
	_, err = c.Create(ctx, fresh)
	require.NoError(t, err)
	_, err = c.ModifyFrom(ctx, old, func(m *corev1.ConfigMap) error { client.RemoveFinalizer(m, "example.com/hold"); return nil })
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
	now, err := c.Get(ctx, client.KeyOf(old))
	require.NoError(t, err)
	assert.Equal(t, fresh.Finalizers, now.Finalizers)
}

// Promise client/3
func TestCreateOrUpdate(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c, _ := connect[*corev1.ConfigMap](t, configMaps, client.Options{})
	key := types.NamespacedName{Namespace: "default", Name: "c"}
	set := func(value string) func(*corev1.ConfigMap) error {
		return func(m *corev1.ConfigMap) error {
			m.Data = map[string]string{"k": value}
			return nil
		}
	}
	made, outcome, err := c.CreateOrUpdate(ctx, key, nil, set("1"))
	require.NoError(t, err)
	assert.Equal(t, client.Created, outcome)

	same, outcome, err := c.CreateOrUpdate(ctx, key, made, set("1"))
	require.NoError(t, err)
	assert.Equal(t, client.Unchanged, outcome)
	assert.Equal(t, made.ResourceVersion, same.ResourceVersion)

	newer, outcome, err := c.CreateOrUpdate(ctx, key, made, set("2"))
	require.NoError(t, err)
	assert.Equal(t, client.Updated, outcome)
	assert.Equal(t, "1", made.Data["k"], "what the cache has is not modified")

	// The cache is behind: of an older state, of an object that is gone, of none.
	_, outcome, err = c.CreateOrUpdate(ctx, key, made, set("3"))
	require.NoError(t, err)
	assert.Equal(t, client.Updated, outcome)
	_, outcome, err = c.CreateOrUpdate(ctx, key, nil, set("4"))
	require.NoError(t, err)
	assert.Equal(t, client.Updated, outcome)
	require.NoError(t, c.Delete(ctx, key, metav1.DeleteOptions{}))
	again, outcome, err := c.CreateOrUpdate(ctx, key, newer, set("5"))
	require.NoError(t, err)
	assert.Equal(t, client.Created, outcome)
	assert.NotEqual(t, newer.UID, again.UID)
	_, _, err = c.CreateOrUpdate(ctx, types.NamespacedName{Namespace: "default", Name: "n"}, nil, func(m *corev1.ConfigMap) error { m.Name = "x"; return nil })
	assert.ErrorContains(t, err, "renamed")
}

func TestFinalizersAndControllers(t *testing.T) {
	t.Parallel()
	obj := configMap("c")
	assert.True(t, client.AddFinalizer(obj, "a"))
	assert.False(t, client.AddFinalizer(obj, "a"))
	assert.True(t, client.AddFinalizer(obj, "b"))
	shared := obj.Finalizers
	assert.True(t, client.RemoveFinalizer(obj, "a"))
	assert.Equal(t, []string{"a", "b"}, shared, "the slice of the cache is not modified")
	assert.Equal(t, []string{"b"}, obj.Finalizers)
	assert.False(t, client.RemoveFinalizer(obj, "a"))

	kind := corev1.SchemeGroupVersion.WithKind("Pod")
	owner := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "o", UID: "1"}}
	require.NoError(t, client.SetController(obj, owner, kind))
	require.NoError(t, client.SetController(obj, owner, kind))
	require.Len(t, obj.OwnerReferences, 1)
	assert.True(t, metav1.IsControlledBy(obj, owner))
	assert.ErrorContains(t, client.SetController(obj, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "2"}}, kind), "is controlled by Pod o (UID 1) already")
	assert.ErrorContains(t, client.SetController(obj, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "p", UID: "1"}}, kind), "is in the same namespace")
	assert.ErrorContains(t, client.SetController(obj, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p"}}, kind), "has no UID")
}

// Promise client/3
func TestAChangeBeginsWithWhatACacheHas(t *testing.T) {
	t.Parallel()
	c, server := connect[*corev1.ConfigMap](t, configMaps, client.Options{})
	made, err := c.Create(t.Context(), configMap("c"))
	require.NoError(t, err)
	server.ResetRequests()
	set := func(name string) func(m *corev1.ConfigMap) error {
		return func(m *corev1.ConfigMap) error {
			if m.Data == nil {
				m.Data = map[string]string{}
			}
			m.Data[name] = "set"
			return nil
		}
	}
	newer, err := c.ModifyFrom(t.Context(), made, set("a"))
	require.NoError(t, err)
	assert.Empty(t, made.Data, "not modified")
	assert.Zero(t, server.Count("get", "configmaps"))
	_, err = c.ModifyFrom(t.Context(), newer, set("a"))
	require.NoError(t, err)
	assert.Equal(t, 1, server.Count("patch", "configmaps"), "the second changes nothing")
	assert.Zero(t, server.Count("update", "configmaps"))

	newest, err := c.ModifyFrom(t.Context(), made, set("b")) // a cache that is behind
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"a": "set", "b": "set"}, newest.Data)
	require.NoError(t, c.Delete(t.Context(), client.KeyOf(made), client.Exactly(made)))
	_, err = c.ModifyFrom(t.Context(), newest, set("c"))
	require.Error(t, err)
	require.NoError(t, client.IgnoreNotFound(err))
	_, err = c.ModifyFrom(t.Context(), nil, set("c"))
	assert.ErrorContains(t, err, "is nil")
	_, err = c.Create(t.Context(), configMap("d"))
	require.NoError(t, err)
	_, err = c.Create(t.Context(), configMap("d"))
	require.Error(t, err)
	require.NoError(t, client.IgnoreAlreadyExists(err))
}

// The server levels what was written: to the same state.
//
// Promise client/3
func TestAnUpdateThatChangesNothingOnTheServerIsUnchanged(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c, _ := connect[*corev1.Service](t, corev1.SchemeGroupVersion.WithResource("services"), client.Options{})
	key := types.NamespacedName{Namespace: "default", Name: "s"}
	set := func(s *corev1.Service) error {
		s.Spec.Ports = []corev1.ServicePort{{Port: 80}} // without the protocol and the targetPort, which are defaults
		return nil
	}
	made, outcome, err := c.CreateOrUpdate(ctx, key, nil, set)
	require.NoError(t, err)
	assert.Equal(t, client.Created, outcome)
	same, outcome, err := c.CreateOrUpdate(ctx, key, made, set)
	require.NoError(t, err)
	assert.Equal(t, client.Unchanged, outcome)
	assert.Equal(t, made.ResourceVersion, same.ResourceVersion)
}

// Two objects with one name need not be one: what another user made is not taken over.
func TestSetControllerTakesNothingOver(t *testing.T) {
	t.Parallel()
	c, _ := connect[*corev1.ConfigMap](t, configMaps, client.Options{})
	owner, err := c.Create(t.Context(), configMap("owner"))
	require.NoError(t, err)
	foreign, err := c.Create(t.Context(), configMap("data"))
	require.NoError(t, err)
	kind := corev1.SchemeGroupVersion.WithKind("ConfigMap")
	change := func(m *corev1.ConfigMap) error { return client.SetController(m, owner, kind) }

	_, _, err = c.CreateOrUpdate(t.Context(), client.KeyOf(foreign), foreign, change)
	require.ErrorContains(t, err, "default/data exists already, and ConfigMap owner does not control it")
	now, err := c.Get(t.Context(), client.KeyOf(foreign))
	require.NoError(t, err)
	assert.Empty(t, now.OwnerReferences)

	mine, outcome, err := c.CreateOrUpdate(t.Context(), client.KeyOf(configMap("mine")), nil, change)
	require.NoError(t, err)
	assert.Equal(t, client.Created, outcome)
	_, outcome, err = c.CreateOrUpdate(t.Context(), client.KeyOf(configMap("mine")), mine, change)
	require.NoError(t, err)
	assert.Equal(t, client.Unchanged, outcome)

	mine.OwnerReferences[0].Controller = nil // a reference to the owner, set by hand, says that it is meant
	require.NoError(t, change(mine))
	assert.True(t, metav1.IsControlledBy(mine, owner))
}
