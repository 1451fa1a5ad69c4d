package bench

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/internal/verify/population"
)

const (
	// cluster is the number of objects of a first sync.
	cluster = 50_000
	// burst is the number of events in a burst, burstObjects that of the objects that
	// they are about.
	burst        = 30_000
	burstObjects = 1_000
)

// collection is what a server in another process serves.
type collection struct {
	resource schema.GroupVersionResource
	n        int
	object   func(i int) runtime.Object
}

var (
	podResource    = corev1.SchemeGroupVersion.WithResource("pods")
	widgetResource = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
)

// collections are the typical pods of first syncs, which differ in their names; objects as
// clusters have them, with what they have in common; and the objects of bursts.
var collections = map[string]collection{
	"typical": {podResource, cluster, func(i int) runtime.Object { return typicalPod(i) }},

	"few": {podResource, 500, func(i int) runtime.Object { return typicalPod(i) }}, // for tests

	"pods":       {podResource, cluster, func(i int) runtime.Object { return population.Pod(i) }},
	"widgets":    {widgetResource, cluster, func(i int) runtime.Object { return widget(population.Pod(i)) }},
	"configmaps": {corev1.SchemeGroupVersion.WithResource("configmaps"), cluster, func(i int) runtime.Object { return population.ConfigMap(i) }},

	"burst-widgets": {widgetResource, burstObjects, func(i int) runtime.Object { return widget(typicalPod(i)) }},
	"burst-nodes":   {corev1.SchemeGroupVersion.WithResource("nodes"), burstObjects, func(i int) runtime.Object { return typicalNode(i) }},
}

// widget is a custom resource with the content of a pod.
func widget(p *corev1.Pod) *corev1.Pod {
	p.APIVersion, p.Kind = "example.com/v1", "Widget"
	return p
}

// path is where the collection is.
func (c collection) path() string {
	if c.resource.Group == "" {
		return "/api/v1/" + c.resource.Resource
	}
	return "/apis/" + c.resource.GroupVersion().String() + "/" + c.resource.Resource
}

// version is the resourceVersion of typical object i. It has the same length as a later one,
// by which it can be replaced in the encoded object.
func version(i int) string { return fmt.Sprintf("%08d", 10_000_000+i) }

// listVersion is that of a list.
const listVersion = "10999999"

// typicalPod is a pod of about 2.5 KB of JSON, as Deployments make them.
func typicalPod(i int) *corev1.Pod {
	now := metav1.NewTime(time.Date(2025, 3, 4, 5, 6, 7, 0, time.UTC))
	yes, seconds := true, int64(30)
	quantity := func(s string) resource.Quantity { return resource.MustParse(s) }
	limits := corev1.ResourceList{corev1.ResourceCPU: quantity("500m"), corev1.ResourceMemory: quantity("512Mi")}
	condition := func(t corev1.PodConditionType) corev1.PodCondition {
		return corev1.PodCondition{Type: t, Status: corev1.ConditionTrue, LastTransitionTime: now}
	}
	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("web-7f9c6d5b8-%08x", i), GenerateName: "web-7f9c6d5b8-", Namespace: "shop-production",
			UID: types.UID(fmt.Sprintf("0b7f8a5c-4d3e-4f21-9c6b-%012x", i)), ResourceVersion: version(i), CreationTimestamp: now,
			Labels: map[string]string{
				"app.kubernetes.io/name": "web", "app.kubernetes.io/part-of": "shop", "pod-template-hash": "7f9c6d5b8", "tier": "frontend",
			},
			Annotations: map[string]string{"prometheus.io/scrape": "true", "kubectl.kubernetes.io/restartedAt": "2025-03-04T05:06:07Z"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-7f9c6d5b8",
				UID: "5e0d1c9a-77aa-4b1e-8a55-0123456789ab", Controller: &yes, BlockOwnerDeletion: &yes,
			}},
		},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: "web", Image: "registry.example.com/shop/web:v1.42.0",
				Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}},
				Env: []corev1.EnvVar{
					{Name: "DATABASE_HOST", Value: "postgres.shop-production.svc.cluster.local"},
					{Name: "LOG_LEVEL", Value: "info"},
					{Name: "POD_IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "status.podIP"}}},
				},
				Resources:              corev1.ResourceRequirements{Limits: limits, Requests: limits},
				VolumeMounts:           []corev1.VolumeMount{{Name: "token", ReadOnly: true, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"}},
				TerminationMessagePath: "/dev/termination-log", ImagePullPolicy: corev1.PullIfNotPresent,
			}},
			Volumes:       []corev1.Volume{{Name: "token", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "web-token"}}}},
			RestartPolicy: corev1.RestartPolicyAlways, TerminationGracePeriodSeconds: &seconds, DNSPolicy: corev1.DNSClusterFirst,
			ServiceAccountName: "web", NodeName: "ip-10-0-12-34.eu-central-1.compute.internal", SchedulerName: "default-scheduler",
			Tolerations: []corev1.Toleration{{Key: "node.kubernetes.io/not-ready", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, HostIP: "10.0.12.34", PodIP: "10.1.2.3", PodIPs: []corev1.PodIP{{IP: "10.1.2.3"}}, StartTime: &now,
			Conditions: []corev1.PodCondition{condition(corev1.PodInitialized), condition(corev1.PodReady), condition(corev1.ContainersReady), condition(corev1.PodScheduled)},
			ContainerStatuses: []corev1.ContainerStatus{{
				Name: "web", Ready: true, Started: &yes, Image: "registry.example.com/shop/web:v1.42.0",
				ImageID:     "registry.example.com/shop/web@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
				ContainerID: "containerd://2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
				State:       corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
			}},
			QOSClass: corev1.PodQOSGuaranteed,
		},
	}
}

// typicalNode is a node of about 12 KB of JSON, most of which are the names of its images.
func typicalNode(i int) *corev1.Node {
	p := typicalPod(i)
	n := &corev1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: p.ObjectMeta}
	n.Namespace, n.OwnerReferences, n.GenerateName = "", nil, ""
	n.Spec = corev1.NodeSpec{PodCIDR: "10.1.2.0/24", PodCIDRs: []string{"10.1.2.0/24"}, ProviderID: "aws:///eu-central-1a/i-0123456789abcdef0"}
	capacity := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("16"), corev1.ResourceMemory: resource.MustParse("64Gi"),
		corev1.ResourcePods: resource.MustParse("110"), corev1.ResourceEphemeralStorage: resource.MustParse("100Gi"),
	}
	n.Status.Capacity, n.Status.Allocatable = capacity, capacity
	for _, c := range []corev1.NodeConditionType{corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure, corev1.NodeReady} {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{
			Type: c, Status: corev1.ConditionFalse, Reason: "KubeletHasNoPressure", Message: "kubelet has no pressure of this kind",
			LastHeartbeatTime: p.CreationTimestamp, LastTransitionTime: p.CreationTimestamp,
		})
	}
	for j := range 50 {
		image := fmt.Sprintf("registry.example.com/team-%02d/component", j)
		n.Status.Images = append(n.Status.Images, corev1.ContainerImage{
			Names:     []string{fmt.Sprintf("%s@sha256:%064x", image, j), image + ":v1.42.0"},
			SizeBytes: int64(j+1) << 20,
		})
	}
	return n
}
