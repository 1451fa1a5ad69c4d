package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/demo"
	"github.com/informerkit/informerkit/examples/replicaset/api"
	replicaset "github.com/informerkit/informerkit/examples/replicaset/controller"
	typed "github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/controller"
	"github.com/informerkit/informerkit/internal/verify/e2e/controlplane"
)

// The admission plugin OwnerReferencesPermissionEnforcement, which OpenShift enables, asks for rights that no request
// shows. The manifests of the examples grant them, and without them the server refuses.
func TestManifestsGrantTheRightsForOwnerReferences(t *testing.T) {
	t.Parallel()
	cp := dedicated(t, controlplane.Options{APIServerFlags: []string{"--enable-admission-plugins=OwnerReferencesPermissionEnforcement"}})
	admin := clientFor(t, cp)
	for _, file := range []string{"foo/crd.yaml", "replicaset/api/crd.yaml", "backup/deploy/crd.yaml"} {
		require.NoError(t, demo.Install(t.Context(), cp.Config(), crd(t, file)))
	}
	namespace := newNamespace(t, admin)
	yes := true
	child := func(apiVersion, kind string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: "child", OwnerReferences: []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: "owner", UID: "u", Controller: &yes, BlockOwnerDeletion: &yes}}}
	}
	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	template, labels := podTemplate("web"), map[string]string{"app": "web"}
	deploys := func(client kubernetes.Interface) error {
		spec := appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template}
		_, err := client.AppsV1().Deployments(namespace).Create(t.Context(), &appsv1.Deployment{ObjectMeta: child("samplecontroller.k8s.io/v1alpha1", "Foo"), Spec: spec}, dry)
		return err
	}
	creates := map[string]func(client kubernetes.Interface) error{
		"foo": deploys, "sharding": deploys,
		"replicaset": func(client kubernetes.Interface) error {
			_, err := client.CoreV1().Pods(namespace).Create(t.Context(), &corev1.Pod{ObjectMeta: child(api.GroupVersionKind.GroupVersion().String(), api.GroupVersionKind.Kind), Spec: template.Spec}, dry)
			return err
		},
		"backup": func(client kubernetes.Interface) error {
			template := *template.DeepCopy()
			template.Spec.RestartPolicy = corev1.RestartPolicyNever
			_, err := client.BatchV1().Jobs(namespace).Create(t.Context(), &batchv1.Job{ObjectMeta: child("examples.informerkit.dev/v1", "CronBackup"), Spec: batchv1.JobSpec{Template: template}}, dry)
			return err
		},
	}
	// as returns a client with the rights of a manifest, but for those that drop names.
	as := func(example string, drop func(resource, verb string) bool) (kubernetes.Interface, *rest.Config) {
		t.Helper()
		objects := applyStrict(t, cp.Config(), example+"/deploy/"+example+".yaml")
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{GenerateName: "owners-"}}
		var kept []string
		for _, obj := range objects {
			if obj["kind"] != "ClusterRole" {
				continue
			}
			body, err := json.Marshal(obj["rules"])
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(body, &role.Rules))
		}
		require.NotEmpty(t, role.Rules)
		for i, rule := range role.Rules {
			role.Rules[i].Verbs = slices.DeleteFunc(rule.Verbs, func(verb string) bool { return drop != nil && drop(rule.Resources[0], verb) })
			for _, verb := range role.Rules[i].Verbs {
				kept = append(kept, verb+" "+rule.APIGroups[0]+"/"+rule.Resources[0])
			}
		}
		role.Rules = slices.DeleteFunc(role.Rules, func(rule rbacv1.PolicyRule) bool { return len(rule.Verbs) == 0 })
		made, err := admin.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{})
		require.NoError(t, err)

		_, err = admin.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: made.Name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: made.Name},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: made.Name}},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		cfg := rest.CopyConfig(cp.Config())
		cfg.Impersonate = rest.ImpersonationConfig{UserName: made.Name}
		areGranted(t, admin, namespace, cfg.Impersonate, kept)
		client, err := kubernetes.NewForConfig(cfg)
		require.NoError(t, err)
		return client, cfg
	}
	for example, create := range creates {
		with, _ := as(example, nil)
		eventually(t, func() error { return create(with) }) // the plugin learns of a definition within seconds
		without, _ := as(example, func(resource, _ string) bool { return strings.HasSuffix(resource, "/finalizers") })
		err := create(without)
		require.True(t, apierrors.IsForbidden(err), "%s: %v", example, err)
		require.ErrorContains(t, err, "cannot set blockOwnerDeletion", example)
	}

	// The example replicaset also adopts: it changes the owner references of a pod that exists.
	orphan := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "orphan", Labels: map[string]string{"app": "web", api.Label: api.LabelValue}}, Spec: template.Spec}
	_, err := admin.CoreV1().Pods(namespace).Create(t.Context(), orphan, metav1.CreateOptions{})
	require.NoError(t, err)
	_, cfg := as("replicaset", func(resource, verb string) bool { return resource == "pods" && verb == "delete" })
	pods, err := typed.New[*corev1.Pod](cfg, corev1.SchemeGroupVersion.WithResource("pods"), typed.Options{})
	require.NoError(t, err)
	have, err := admin.CoreV1().Pods(namespace).Get(t.Context(), "orphan", metav1.GetOptions{})
	require.NoError(t, err)
	_, err = pods.ModifyFrom(t.Context(), have, func(p *corev1.Pod) error {
		p.OwnerReferences = child(api.GroupVersionKind.GroupVersion().String(), api.GroupVersionKind.Kind).OwnerReferences
		return nil
	})
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	require.ErrorContains(t, err, "cannot set an ownerRef on a resource you can't delete")

	_, cfg = as("replicaset", nil)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- replicaset.New(controller.Options{Config: cfg}).Run(ctx) }()
	sets, err := typed.New[*api.ReplicaSet](cp.Config(), api.GroupVersionResource, typed.Options{})
	require.NoError(t, err)
	replicas := int32(2)
	set, err := sets.Create(ctx, &api.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"},
		Spec:       appsv1.ReplicaSetSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template},
	})
	require.NoError(t, err)
	eventually(t, func() error {
		all, err := admin.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		owned := slices.DeleteFunc(all.Items, func(p corev1.Pod) bool { return !metav1.IsControlledBy(&p, set) })
		if err == nil && (len(owned) != 2 || !slices.ContainsFunc(owned, func(p corev1.Pod) bool { return p.Name == "orphan" })) {
			err = fmt.Errorf("%d of %d pods are owned", len(owned), len(all.Items))
		}
		return err
	})
	cancel()
	assert.NoError(t, <-ended)
}
