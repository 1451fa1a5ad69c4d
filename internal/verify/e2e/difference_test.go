package e2e

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/informerkit/informerkit/informer"
	typed "github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/controller"
	"github.com/informerkit/informerkit/workqueue"
)

// Gateway is the type of a program that needs a part of a custom resource.
type Gateway struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Paused    bool       `json:"paused,omitempty"`
		Listeners []listener `json:"listeners,omitempty"`
		Rules     []listener `json:"rules,omitempty"`
	} `json:"spec,omitzero"`
	Status struct {
		Conditions []metav1.Condition `json:"conditions,omitempty"`
	} `json:"status,omitzero"`
}

type listener struct {
	Name string `json:"name"`
	Port int64  `json:"port,omitempty"`
}

// DeepCopyObject implements [runtime.Object].
func (g *Gateway) DeepCopyObject() runtime.Object {
	body, err := json.Marshal(g)
	out := &Gateway{}
	if err == nil {
		err = json.Unmarshal(body, out)
	}
	if err != nil {
		panic(err)
	}
	return out
}

// Two controllers change objects of which they see a part. All else stays as it was.
func TestAChangeLosesNothingOnARealServer(t *testing.T) {
	t.Parallel()
	cp := shared(t)
	admin := clientFor(t, cp)
	namespace := newNamespace(t, admin)
	gvr := schema.GroupVersionResource{Group: namespace + ".informerkit.test", Version: "v1", Resource: "gateways"}
	client, err := dynamic.NewForConfig(cp.Config())
	require.NoError(t, err)
	crd := definition(gvr.Group, "Gateway", gvr.Resource)
	version := crd.Object["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)
	version["subresources"] = map[string]any{"status": map[string]any{}}
	_, err = client.Resource(crdResource).Create(t.Context(), crd, metav1.CreateOptions{})
	require.NoError(t, err)

	config, err := admin.CoreV1().ConfigMaps(namespace).Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "g", Finalizers: []string{"e2e.informerkit.test/other"}, Annotations: map[string]string{"other": "1"}},
		Data:       map[string]string{"precious": "data"},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	const large = int64(1)<<60 + 1
	spec := map[string]any{
		"hidden": large, "none": nil, "paused": true,
		"listeners": []any{
			map[string]any{"name": "system", "port": int64(1), "tls": map[string]any{"mode": "strict"}},
			map[string]any{"name": "a", "port": int64(80), "weight": large, "none": nil},
			map[string]any{"name": "b", "port": int64(81), "weight": int64(2)},
		},
		"rules": []any{map[string]any{"name": "x", "paths": []any{"/x"}}, map[string]any{"name": "y", "paths": []any{"/y"}}},
	}
	var made *unstructured.Unstructured
	eventually(t, func() error { // its storage is being initialized
		made, err = client.Resource(gvr).Namespace(namespace).Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": gvr.GroupVersion().String(), "kind": "Gateway", "metadata": map[string]any{"name": "g", "finalizers": []any{"e2e.informerkit.test/other"}}, "spec": spec,
		}}, metav1.CreateOptions{})
		return err
	})
	require.Contains(t, made.Object["spec"], "none", "the definition keeps null")

	ctx, cancel := context.WithCancel(t.Context())
	c := controller.New(controller.Options{Config: cp.Config(), Name: "difference"})
	gateways := controller.For(c, gvr, controller.ResourceOptions[*Gateway]{
		ListMapKeys: map[string][]string{"spec.listeners": {"name"}},
		Informer: informer.ForOptions[*Gateway]{Transform: func(g *Gateway) (*Gateway, error) {
			g.Finalizers, g.ManagedFields = nil, nil
			if len(g.Spec.Listeners) > 0 && g.Spec.Listeners[0].Name == "system" {
				g.Spec.Listeners = g.Spec.Listeners[1:]
			}
			return g, nil
		}},
	})
	maps := controller.Reads(c, corev1.SchemeGroupVersion.WithResource("configmaps"), controller.ResourceOptions[*corev1.ConfigMap]{
		Informer: informer.ForOptions[*corev1.ConfigMap]{Transform: func(m *corev1.ConfigMap) (*corev1.ConfigMap, error) {
			m.Data, m.Finalizers, m.Annotations = nil, nil, nil
			return m, nil
		}},
	})
	const own = "e2e.informerkit.test/own"
	var steps []error
	ended := make(chan error, 1)
	go func() {
		ended <- c.Run(ctx, func(ctx context.Context, key types.NamespacedName) (workqueue.Result, error) {
			if steps != nil {
				return workqueue.Result{}, nil
			}
			step := func(err error) { steps = append(steps, err) }
			_, err := gateways.Modify(ctx, key, func(g *Gateway) error {
				typed.AddFinalizer(g, own)
				g.Spec.Paused = false
				g.Spec.Listeners = []listener{{Name: "n", Port: 90}, {Name: "b", Port: 8181}}
				return nil
			})
			step(err)
			_, err = gateways.Modify(ctx, key, func(g *Gateway) error { g.Spec.Rules[1].Port = 7; return nil })
			step(err)
			_, err = gateways.ModifyStatus(ctx, key, func(g *Gateway) error {
				g.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "True", Reason: "Done", LastTransitionTime: metav1.Now()}}
				return nil
			})
			step(err)
			_, err = maps.Modify(ctx, key, func(m *corev1.ConfigMap) error { typed.AddFinalizer(m, own); return nil })
			step(err)
			_, _, err = maps.CreateOrUpdate(ctx, key, func(m *corev1.ConfigMap) error {
				metav1.SetMetaDataAnnotation(&m.ObjectMeta, "own", "1")
				m.OwnerReferences = append(m.OwnerReferences, metav1.OwnerReference{APIVersion: gvr.GroupVersion().String(), Kind: "Gateway", Name: "g", UID: made.GetUID()})
				return nil
			})
			step(err)
			cancel()
			return workqueue.Result{}, nil
		})
	}()
	require.NoError(t, <-ended)
	require.Equal(t, make([]error, 5), steps)

	got, err := client.Resource(gvr).Namespace(namespace).Get(t.Context(), "g", metav1.GetOptions{})
	require.NoError(t, err)
	want := runtime.DeepCopyJSON(spec)
	delete(want, "paused")
	listeners, rules := want["listeners"].([]any), want["rules"].([]any)
	listeners[2].(map[string]any)["port"] = int64(8181)
	want["listeners"] = []any{listeners[0], map[string]any{"name": "n", "port": int64(90)}, listeners[2]}
	rules[1].(map[string]any)["port"] = int64(7)
	assert.Equal(t, want, got.Object["spec"])
	assert.ElementsMatch(t, []string{"e2e.informerkit.test/other", own}, got.GetFinalizers())
	assert.Contains(t, got.Object, "status")
	now, err := admin.CoreV1().ConfigMaps(namespace).Get(t.Context(), "g", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, config.Data, now.Data)
	assert.ElementsMatch(t, []string{"e2e.informerkit.test/other", own}, now.Finalizers)
	assert.Equal(t, map[string]string{"other": "1", "own": "1"}, now.Annotations)
	assert.Len(t, now.OwnerReferences, 1)
}
