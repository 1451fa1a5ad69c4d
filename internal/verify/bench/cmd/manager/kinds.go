package main

import (
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	group      = "example.com"
	namespaces = 50
)

// kind is one kind, and what of all objects are of it.
type kind struct {
	gvk    schema.GroupVersionKind
	plural string
	per50k int           // of 50,000 objects
	empty  client.Object // in the form in which the manager reads it
	build  func(i int) client.Object
}

// resource is where objects of the kind are.
func (k kind) resource() schema.GroupVersionResource {
	return k.gvk.GroupVersion().WithResource(k.plural)
}

// custom reports whether it is a custom resource.
func (k kind) custom() bool { return k.gvk.Group == group }

// count is how many objects of the kind there are.
func (k kind) count(o Options) int { return max(1, k.per50k*o.Objects/50_000) }

// kinds are 20: ten built-in ones, four custom ones with Go types, six without.
var kinds = []kind{
	builtin(corev1.SchemeGroupVersion.WithKind("Pod"), "pods", 15_000, &corev1.Pod{}, pod),
	builtin(corev1.SchemeGroupVersion.WithKind("ConfigMap"), "configmaps", 4_000, &corev1.ConfigMap{}, func(i int) client.Object {
		return &corev1.ConfigMap{ObjectMeta: meta("config", i), Data: map[string]string{"settings.yaml": settings(i), "mode": "production"}}
	}),
	builtin(corev1.SchemeGroupVersion.WithKind("Secret"), "secrets", 4_000, &corev1.Secret{}, func(i int) client.Object {
		return &corev1.Secret{ObjectMeta: meta("secret", i), Data: map[string][]byte{"token": []byte(strings.Repeat(fmt.Sprintf("%08x", i*2654435761), 64))}}
	}),
	builtin(appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), "replicasets", 4_000, &appsv1.ReplicaSet{}, func(i int) client.Object {
		return &appsv1.ReplicaSet{ObjectMeta: meta("app", i), Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To[int32](3), Selector: selector(i), Template: template(i)}}
	}),
	builtin(appsv1.SchemeGroupVersion.WithKind("Deployment"), "deployments", 2_000, &appsv1.Deployment{}, func(i int) client.Object {
		return &appsv1.Deployment{ObjectMeta: meta("app", i), Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](3), Selector: selector(i), Template: template(i)}}
	}),
	builtin(corev1.SchemeGroupVersion.WithKind("Service"), "services", 2_000, &corev1.Service{}, func(i int) client.Object {
		return &corev1.Service{ObjectMeta: meta("app", i), Spec: corev1.ServiceSpec{Selector: labels(i), Ports: []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(8080)}}}}
	}),
	builtin(discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"), "endpointslices", 2_000, &discoveryv1.EndpointSlice{}, func(i int) client.Object {
		s := &discoveryv1.EndpointSlice{ObjectMeta: meta("app", i), AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: ptr.To[int32](8080)}}}
		for j := range 5 {
			s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
				Addresses: []string{fmt.Sprintf("10.%d.%d.%d", i>>8&255, i&255, j+1)}, NodeName: ptr.To(node(i + j)),
				Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)},
				TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: namespace(i), Name: fmt.Sprintf("pod-%06d", i*5+j)},
			})
		}
		return s
	}),
	builtin(corev1.SchemeGroupVersion.WithKind("ServiceAccount"), "serviceaccounts", 1_500, &corev1.ServiceAccount{}, func(i int) client.Object {
		return &corev1.ServiceAccount{ObjectMeta: meta("app", i), ImagePullSecrets: []corev1.LocalObjectReference{{Name: "registry"}}}
	}),
	builtin(batchv1.SchemeGroupVersion.WithKind("Job"), "jobs", 1_500, &batchv1.Job{}, func(i int) client.Object {
		t := template(i)
		t.Spec.RestartPolicy = corev1.RestartPolicyNever
		return &batchv1.Job{ObjectMeta: meta("job", i), Spec: batchv1.JobSpec{Template: t}}
	}),
	builtin(corev1.SchemeGroupVersion.WithKind("Node"), "nodes", 500, &corev1.Node{}, func(i int) client.Object {
		n := &corev1.Node{ObjectMeta: meta("node", i)}
		n.Namespace, n.Name = "", node(i)
		for j := range 30 {
			n.Status.Images = append(n.Status.Images, corev1.ContainerImage{Names: []string{fmt.Sprintf("registry.example.com/team/image-%d:v1.%d", j, j)}, SizeBytes: int64(j) << 20})
		}
		return n
	}),
	typed[k1]("Alpha"), typed[k2]("Beta"), typed[k3]("Gamma"), typed[k4]("Delta"),
	untyped("Epsilon"), untyped("Zeta"), untyped("Eta"), untyped("Theta"), untyped("Iota"), untyped("Kappa"),
}

func builtin(gvk schema.GroupVersionKind, plural string, per50k int, empty client.Object, build func(int) client.Object) kind {
	return kind{gvk, plural, per50k, empty, func(i int) client.Object {
		obj := build(i)
		obj.GetObjectKind().SetGroupVersionKind(gvk)
		return obj
	}}
}

// The kinds of the custom resources that have Go types.
type (
	k1 struct{}
	k2 struct{}
	k3 struct{}
	k4 struct{}
)

// app is the Go type of a custom resource, as a generator writes it.
type app[K any] struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              appSpec   `json:"spec,omitempty"`
	Status            appStatus `json:"status,omitempty"`
}

type appSpec struct {
	Image    string                `json:"image,omitempty"`
	Replicas int32                 `json:"replicas,omitempty"`
	Env      []corev1.EnvVar       `json:"env,omitempty"`
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

type appStatus struct {
	Phase      string             `json:"phase,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// DeepCopyInto is what controller-gen generates.
func (a *app[K]) DeepCopyInto(out *app[K]) {
	*out = *a
	a.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	if a.Spec.Env != nil {
		out.Spec.Env = make([]corev1.EnvVar, len(a.Spec.Env))
		for i := range a.Spec.Env {
			a.Spec.Env[i].DeepCopyInto(&out.Spec.Env[i])
		}
	}
	out.Spec.Selector = a.Spec.Selector.DeepCopy()
	if a.Status.Conditions != nil {
		out.Status.Conditions = make([]metav1.Condition, len(a.Status.Conditions))
		for i := range a.Status.Conditions {
			a.Status.Conditions[i].DeepCopyInto(&out.Status.Conditions[i])
		}
	}
}

// DeepCopyObject implements runtime.Object.
func (a *app[K]) DeepCopyObject() runtime.Object {
	out := new(app[K])
	a.DeepCopyInto(out)
	return out
}

// appList is a list of them.
type appList[K any] struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []app[K] `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (l *appList[K]) DeepCopyObject() runtime.Object {
	out := &appList[K]{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy(), Items: make([]app[K], len(l.Items))}
	for i := range l.Items {
		l.Items[i].DeepCopyInto(&out.Items[i])
	}
	return out
}

// scheme has the Go types of all kinds that have one.
var scheme = runtime.NewScheme()

func typed[K any](name string) kind {
	gvk := schema.GroupVersionKind{Group: group, Version: "v1", Kind: name}
	scheme.AddKnownTypeWithName(gvk, &app[K]{})
	scheme.AddKnownTypeWithName(gvk.GroupVersion().WithKind(name+"List"), &appList[K]{})
	metav1.AddToGroupVersion(scheme, gvk.GroupVersion())
	return kind{gvk, strings.ToLower(name) + "s", 1_500, &app[K]{}, func(i int) client.Object { return customOf(gvk, i) }}
}

func untyped(name string) kind {
	gvk := schema.GroupVersionKind{Group: group, Version: "v1", Kind: name}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	return kind{gvk, strings.ToLower(name) + "s", 1_250, u, func(i int) client.Object { return customOf(gvk, i) }}
}

// customOf returns a custom resource.
func customOf(gvk schema.GroupVersionKind, i int) client.Object {
	a := &app[k1]{ObjectMeta: meta("app", i), Spec: appSpec{Image: image(i), Replicas: int32(i % 5), Env: env(i), Selector: selector(i)}} //nolint:gosec // small
	a.Status = appStatus{Phase: "Running"}
	for _, c := range []string{"Ready", "Progressing", "Degraded"} {
		a.Status.Conditions = append(a.Status.Conditions, metav1.Condition{
			Type: c, Status: metav1.ConditionTrue, Reason: "AsExpected", Message: "all parts are available", LastTransitionTime: at(i), ObservedGeneration: 1,
		})
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(a)
	if err != nil {
		panic(err)
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(gvk)
	return u
}

func at(i int) metav1.Time {
	return metav1.NewTime(time.Date(2026, 1, 1, 0, 0, i%86400, 0, time.UTC))
}
func namespace(i int) string { return fmt.Sprintf("team-%02d", i%namespaces) }
func node(i int) string      { return fmt.Sprintf("node-%03d.example.com", i%500) }
func image(i int) string     { return fmt.Sprintf("registry.example.com/team/app-%d:v1.%d.0", i%40, i%7) }

func labels(i int) map[string]string {
	return map[string]string{
		"app.kubernetes.io/name": fmt.Sprintf("app-%d", i%400), "app.kubernetes.io/part-of": "shop", "app.kubernetes.io/managed-by": "deployer",
		"team": namespace(i), "tier": "backend",
	}
}

func selector(i int) *metav1.LabelSelector { return &metav1.LabelSelector{MatchLabels: labels(i)} }

// meta is what most objects carry: labels, annotations, an owner and managed fields.
func meta(prefix string, i int) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: namespace(i), Name: fmt.Sprintf("%s-%06d", prefix, i), Labels: labels(i),
		Annotations: map[string]string{"example.com/revision": fmt.Sprint(i % 9), "example.com/config-hash": fmt.Sprintf("%016x", i*0x9e3779b1)},
		ManagedFields: []metav1.ManagedFieldsEntry{{
			Manager: "deployer", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", FieldsType: "FieldsV1", Time: ptr.To(at(i)),
			FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{".":{},"f:example.com/config-hash":{},"f:example.com/revision":{}},"f:labels":{".":{},"f:app.kubernetes.io/managed-by":{},"f:app.kubernetes.io/name":{},"f:app.kubernetes.io/part-of":{},"f:team":{},"f:tier":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"main\"}":{".":{},"f:env":{".":{},"k:{\"name\":\"LOG_LEVEL\"}":{".":{},"f:name":{},"f:value":{}}},"f:image":{},"f:imagePullPolicy":{},"f:livenessProbe":{".":{},"f:failureThreshold":{},"f:httpGet":{".":{},"f:path":{},"f:port":{}}},"f:name":{},"f:resources":{".":{},"f:limits":{".":{},"f:cpu":{},"f:memory":{}}}}}}}`),
		}},
	}
}

func settings(i int) string {
	var b strings.Builder
	for j := range 12 {
		fmt.Fprintf(&b, "setting-%d: value-%d\n", j, (i+j)%20)
	}
	return b.String()
}

func env(i int) []corev1.EnvVar {
	vars := []corev1.EnvVar{{Name: "LOG_LEVEL", Value: "info"}, {Name: "REGION", Value: "eu-central-1"}, {Name: "INSTANCE", Value: fmt.Sprint(i)}}
	for j := range 6 {
		vars = append(vars, corev1.EnvVar{Name: fmt.Sprintf("SERVICE_%d_URL", j), Value: fmt.Sprintf("http://service-%d.shop.svc:8080", j)})
	}
	return vars
}

func template(i int) corev1.PodTemplateSpec {
	probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(8080)}}, PeriodSeconds: 10, FailureThreshold: 3}
	container := corev1.Container{
		Name: "main", Image: image(i), Env: env(i), LivenessProbe: probe, ReadinessProbe: probe.DeepCopy(),
		Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("128Mi")},
			Limits:   corev1.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse("512Mi")},
		},
		VolumeMounts: []corev1.VolumeMount{{Name: "config", MountPath: "/etc/app"}, {Name: "tmp", MountPath: "/tmp"}},
	}
	sidecar := *container.DeepCopy()
	sidecar.Name, sidecar.Image, sidecar.Ports = "proxy", "registry.example.com/mesh/proxy:v2.1.0", nil
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels(i)},
		Spec: corev1.PodSpec{
			ServiceAccountName: fmt.Sprintf("app-%06d", i%1500), Containers: []corev1.Container{container, sidecar},
			Volumes: []corev1.Volume{
				{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: fmt.Sprintf("config-%06d", i%4000)}}}},
				{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			},
		},
	}
}

func pod(i int) client.Object {
	t := template(i / 5)
	p := &corev1.Pod{ObjectMeta: meta("pod", i), Spec: t.Spec}
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: fmt.Sprintf("app-%06d", i/5), UID: "5f4c1d2e-0000-4000-8000-000000000000", Controller: ptr.To(true)}}
	p.Spec.NodeName = node(i)
	p.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: fmt.Sprintf("10.%d.%d.7", i>>8&255, i&255), HostIP: "192.168.0.1", StartTime: ptr.To(at(i))}
	for _, c := range []corev1.PodConditionType{corev1.PodReady, corev1.PodInitialized, corev1.PodScheduled, corev1.ContainersReady} {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: c, Status: corev1.ConditionTrue, LastTransitionTime: at(i)})
	}
	for _, c := range p.Spec.Containers {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, Ready: true, ContainerID: fmt.Sprintf("containerd://%064x", i),
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(i)}},
		})
	}
	return p
}
