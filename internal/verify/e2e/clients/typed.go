package clients

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	applyappsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	applymetav1 "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// deployment is a complete deployment.
func deployment(name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "example.test/c"}}},
			},
		},
	}
}

// typedClient is the life of a deployment.
func typedClient(t *testing.T, cfg *rest.Config, ns string) {
	ctx, client := t.Context(), kubernetes.NewForConfigOrDie(cfg).AppsV1().Deployments(ns)
	d, err := client.Create(ctx, deployment("d"), metav1.CreateOptions{})
	require.NoError(t, err)
	require.NotNil(t, d.Spec.Replicas)
	assert.EqualValues(t, 1, *d.Spec.Replicas)
	assert.EqualValues(t, 1, d.Generation)

	two := int32(2)
	d.Spec.Replicas = &two
	d, err = client.Update(ctx, d, metav1.UpdateOptions{})
	require.NoError(t, err)
	assert.EqualValues(t, 2, d.Generation)

	for _, patch := range []struct {
		kind types.PatchType
		body string
	}{
		{types.StrategicMergePatchType, `{"spec":{"template":{"spec":{"containers":[{"name":"d","image":"example.test/d"}]}}}}`},
		{types.MergePatchType, `{"metadata":{"annotations":{"a":"b"}}}`},
		{types.JSONPatchType, `[{"op":"replace","path":"/spec/replicas","value":3}]`},
	} {
		d, err = client.Patch(ctx, "d", patch.kind, []byte(patch.body), metav1.PatchOptions{})
		require.NoError(t, err, patch.kind)
	}
	assert.Len(t, d.Spec.Template.Spec.Containers, 2)
	assert.Equal(t, "b", d.Annotations["a"])
	assert.EqualValues(t, 3, *d.Spec.Replicas)

	list, err := client.List(ctx, metav1.ListOptions{LabelSelector: "app=d"})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
	assert.Equal(t, d.UID, list.Items[0].UID)
	require.NoError(t, client.Delete(ctx, "d", metav1.DeleteOptions{}))
	_, err = client.Get(ctx, "d", metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
	require.NoError(t, client.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
}

// typedApply applies from two managers.
func typedApply(t *testing.T, cfg *rest.Config, ns string) {
	ctx, client := t.Context(), kubernetes.NewForConfigOrDie(cfg)
	labels := map[string]string{"app": "d"}
	template := applycorev1.PodTemplateSpec().WithLabels(labels).
		WithSpec(applycorev1.PodSpec().WithContainers(applycorev1.Container().WithName("c").WithImage("example.test/c")))
	config := applyappsv1.Deployment("d", ns).WithSpec(applyappsv1.DeploymentSpec().WithReplicas(2).
		WithSelector(applymetav1.LabelSelector().WithMatchLabels(labels)).WithTemplate(template))
	d, err := client.AppsV1().Deployments(ns).Apply(ctx, config, metav1.ApplyOptions{FieldManager: "one"})
	require.NoError(t, err)
	assert.Len(t, d.ManagedFields, 1)

	again, err := client.AppsV1().Deployments(ns).Apply(ctx, config, metav1.ApplyOptions{FieldManager: "one"})
	require.NoError(t, err)
	assert.Equal(t, d.ResourceVersion, again.ResourceVersion)

	other := applyappsv1.Deployment("d", ns).WithSpec(applyappsv1.DeploymentSpec().WithReplicas(5))
	_, err = client.AppsV1().Deployments(ns).Apply(ctx, other, metav1.ApplyOptions{FieldManager: "two"})
	assert.True(t, apierrors.IsConflict(err), "%v", err)
	d, err = client.AppsV1().Deployments(ns).Apply(ctx, other, metav1.ApplyOptions{FieldManager: "two", Force: true})
	require.NoError(t, err)
	assert.EqualValues(t, 5, *d.Spec.Replicas)

	extracted, err := applyappsv1.ExtractDeployment(d, "two")
	require.NoError(t, err)
	require.NotNil(t, extracted.Spec)
	assert.EqualValues(t, 5, *extracted.Spec.Replicas)
	status := applyappsv1.Deployment("d", ns).WithStatus(applyappsv1.DeploymentStatus().WithReadyReplicas(4).WithReplicas(5))
	d, err = client.AppsV1().Deployments(ns).ApplyStatus(ctx, status, metav1.ApplyOptions{FieldManager: "two"})
	require.NoError(t, err)
	assert.EqualValues(t, 4, d.Status.ReadyReplicas)
}

// typedStatus writes status and specification by their endpoints.
func typedStatus(t *testing.T, cfg *rest.Config, ns string) {
	ctx, pods := t.Context(), kubernetes.NewForConfigOrDie(cfg).CoreV1().Pods(ns)
	serviceAccount(t, cfg, ns)
	p, err := pods.Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i", Ports: []corev1.ContainerPort{{ContainerPort: 80}}}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	assert.Equal(t, corev1.PodPending, p.Status.Phase)
	p.Status.Phase = corev1.PodRunning
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	p.Spec.Containers[0].Image = "j"
	p, err = pods.UpdateStatus(ctx, p, metav1.UpdateOptions{})
	require.NoError(t, err)
	assert.Equal(t, corev1.PodRunning, p.Status.Phase)
	assert.Equal(t, "i", p.Spec.Containers[0].Image)
	p, err = pods.Patch(ctx, "p", types.StrategicMergePatchType, []byte(`{"status":{"conditions":[{"type":"Ready","status":"False"}]}}`), metav1.PatchOptions{}, "status")
	require.NoError(t, err)
	require.Len(t, p.Status.Conditions, 1)
	assert.Equal(t, corev1.ConditionFalse, p.Status.Conditions[0].Status)
	zero := int64(0)
	require.NoError(t, pods.Delete(ctx, "p", metav1.DeleteOptions{GracePeriodSeconds: &zero}))
}

// serviceAccount makes the account that pods run as, which a real cluster's
// controllers would make.
func serviceAccount(t *testing.T, cfg *rest.Config, ns string) {
	_, err := kubernetes.NewForConfigOrDie(cfg).CoreV1().ServiceAccounts(ns).Create(t.Context(),
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		require.NoError(t, err)
	}
}

// typedErrors meets the errors that controllers distinguish.
func typedErrors(t *testing.T, cfg *rest.Config, ns string) {
	ctx, client := t.Context(), kubernetes.NewForConfigOrDie(cfg).CoreV1().ConfigMaps(ns)
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"k": "v"}}
	first, err := client.Create(ctx, cm, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = client.Create(ctx, cm, metav1.CreateOptions{})
	assert.True(t, apierrors.IsAlreadyExists(err), "%v", err)
	second := first.DeepCopy()
	second.Data["k"] = "w"
	_, err = client.Update(ctx, second, metav1.UpdateOptions{})
	require.NoError(t, err)
	_, err = client.Update(ctx, second, metav1.UpdateOptions{})
	assert.True(t, apierrors.IsConflict(err), "%v", err)
	_, err = client.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "Not A Name"}}, metav1.CreateOptions{})
	assert.True(t, apierrors.IsInvalid(err), "%v", err)
	_, err = client.Patch(ctx, "a", types.JSONPatchType, []byte(`{`), metav1.PatchOptions{})
	assert.True(t, apierrors.IsBadRequest(err), "%v", err)
	_, err = client.Patch(ctx, "a", "application/nonsense", []byte(`{}`), metav1.PatchOptions{})
	assert.True(t, apierrors.IsUnsupportedMediaType(err), "%v", err)
	wrong := types.UID("wrong")
	err = client.Delete(ctx, "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &wrong}})
	assert.True(t, apierrors.IsConflict(err), "%v", err)
	_, err = client.List(ctx, metav1.ListOptions{FieldSelector: "data.k=v"})
	assert.True(t, apierrors.IsBadRequest(err), "%v", err)
	err = client.Delete(ctx, "none", metav1.DeleteOptions{})
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
	_, err = kubernetes.NewForConfigOrDie(cfg).CoreV1().ConfigMaps("absent-"+ns).Create(ctx, cm, metav1.CreateOptions{})
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
}
