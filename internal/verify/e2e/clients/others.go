package clients

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

var configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")

// allKinds writes objects of several groups, whose defaults the server fills in.
func allKinds(t *testing.T, cfg *rest.Config, ns string) {
	ctx, c := t.Context(), kubernetes.NewForConfigOrDie(cfg)
	secret, err := c.CoreV1().Secrets(ns).Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}, StringData: map[string]string{"a": "b"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	assert.Equal(t, "b", string(secret.Data["a"]))
	service, err := c.CoreV1().Services(ns).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "s"},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"a": "b"}, Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	assert.NotEmpty(t, service.Spec.ClusterIP)
	_, err = c.RbacV1().Roles(ns).Create(ctx, &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "r"}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	port := intstr.FromInt32(80)
	policy, err := c.NetworkingV1().NetworkPolicies(ns).Create(ctx, &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "n"},
		Spec:       networkingv1.NetworkPolicySpec{Ingress: []networkingv1.NetworkPolicyIngressRule{{Ports: []networkingv1.NetworkPolicyPort{{Port: &port}}}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	assert.Equal(t, []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}, policy.Spec.PolicyTypes)
}

// dynamicClient is the life of a config map without its type.
func dynamicClient(t *testing.T, cfg *rest.Config, ns string) {
	ctx, c := t.Context(), dynamic.NewForConfigOrDie(cfg).Resource(configMaps).Namespace(ns)
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}, "data": map[string]any{"k": "v"},
	}}
	created, err := c.Create(ctx, obj, metav1.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, unstructured.SetNestedField(created.Object, "w", "data", "k"))
	updated, err := c.Update(ctx, created, metav1.UpdateOptions{})
	require.NoError(t, err)
	assert.NotEqual(t, created.GetResourceVersion(), updated.GetResourceVersion())
	_, err = c.Patch(ctx, "a", types.MergePatchType, []byte(`{"data":{"l":"x"}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	config := obj.DeepCopy()
	config.Object["data"] = map[string]any{"m": "y"}
	applied, err := c.Apply(ctx, "a", config, metav1.ApplyOptions{FieldManager: "me"})
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"k": "w", "l": "x", "m": "y"}, applied.Object["data"])
	list, err := c.List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	assert.NotEmpty(t, list.Items)
	require.NoError(t, c.Delete(ctx, "a", metav1.DeleteOptions{}))
}

// metadataClient reads and patches metadata only.
func metadataClient(t *testing.T, cfg *rest.Config, ns string) {
	ctx := t.Context()
	_, err := kubernetes.NewForConfigOrDie(cfg).CoreV1().ConfigMaps(ns).Create(ctx,
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"k": "v"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	c := metadata.NewForConfigOrDie(cfg).Resource(configMaps).Namespace(ns)
	got, err := c.Get(ctx, "a", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, "a", got.Name)
	patched, err := c.Patch(ctx, "a", types.MergePatchType, []byte(`{"metadata":{"labels":{"l":"1"}}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	assert.Equal(t, "1", patched.Labels["l"])
	list, err := c.List(ctx, metav1.ListOptions{LabelSelector: "l=1"})
	require.NoError(t, err)
	assert.Len(t, list.Items, 1)
	require.NoError(t, c.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "l=1"}))
}

// runtimeClient uses what reconcilers use.
func runtimeClient(t *testing.T, cfg *rest.Config, ns string) {
	ctx := t.Context()
	c, err := client.New(cfg, client.Options{})
	require.NoError(t, err)
	d := deployment("d")
	d.Namespace = ns
	require.NoError(t, c.Create(ctx, d))
	before := d.DeepCopy()
	d.Labels["l"] = "1"
	require.NoError(t, c.Patch(ctx, d, client.MergeFrom(before)))
	before = d.DeepCopy()
	d.Spec.Template.Spec.Containers[0].Image = "example.test/e"
	require.NoError(t, c.Patch(ctx, d, client.StrategicMergeFrom(before)))
	d.Status.Replicas = 3
	require.NoError(t, c.Status().Update(ctx, d))
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: ns}}
	for _, want := range []controllerutil.OperationResult{controllerutil.OperationResultCreated, controllerutil.OperationResultNone} {
		result, err := controllerutil.CreateOrUpdate(ctx, c, cm, func() error {
			cm.Data = map[string]string{"k": "v"}
			return controllerutil.SetControllerReference(d, cm, c.Scheme())
		})
		require.NoError(t, err)
		assert.Equal(t, want, result)
	}
	require.Len(t, cm.OwnerReferences, 1)
	assert.Equal(t, d.UID, cm.OwnerReferences[0].UID)
	var list corev1.ConfigMapList
	require.NoError(t, c.List(ctx, &list, client.InNamespace(ns)))
	assert.NotEmpty(t, list.Items)
	require.NoError(t, c.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace(ns)))
	require.NoError(t, c.Delete(ctx, d))
	assert.NoError(t, client.IgnoreNotFound(c.Get(ctx, client.ObjectKeyFromObject(d), d)))
}
