// Package population makes objects as clusters have them, for measuring what they
// cost in memory: how much of them is equal is what matters, and where.
package population

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// PerReplicaSet is the number of pods that one ReplicaSet makes.
const PerReplicaSet = 100

var start = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func random(kind uint64, i int) *rand.Rand { return rand.New(rand.NewPCG(kind, uint64(i))) }

const letters = "bcdfghjklmnpqrstvwxz2456789"

func suffix(r *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[r.IntN(len(letters))]
	}
	return string(b)
}

func uid(r *rand.Rand) types.UID {
	return types.UID(fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", r.Uint32(), r.IntN(1<<16), r.IntN(1<<12), r.IntN(1<<12), r.Uint64N(1<<48)))
}

// Pod returns pod i of a cluster, in the order of a list: about 1.9 KB in
// protobuf. The pods of one ReplicaSet differ in their name, UID, node, addresses,
// times, container ID and in the name of the volume with their token.
func Pod(i int) *corev1.Pod {
	set := i / PerReplicaSet
	app := fmt.Sprintf("service-%03d", set)
	sr := random(1, set)
	hash := suffix(sr, 10)
	owner, namespace := uid(sr), fmt.Sprintf("team-%02d", set/10)
	r := random(2, i)
	node := r.IntN(1000)
	created := metav1.NewTime(start.Add(time.Duration(set) * time.Hour).Add(time.Duration(i%PerReplicaSet) * time.Second))
	after := func(seconds int) metav1.Time {
		return metav1.NewTime(created.Add(time.Duration(seconds+r.IntN(5)) * time.Second))
	}
	token := "kube-api-access-" + suffix(r, 5)
	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name: app + "-" + hash + "-" + suffix(r, 5), GenerateName: app + "-" + hash + "-", Namespace: namespace,
			UID: uid(r), ResourceVersion: fmt.Sprint(10_000_000 + i*7), CreationTimestamp: created,
			Labels: map[string]string{
				"app.kubernetes.io/name": app, "app.kubernetes.io/part-of": namespace, "pod-template-hash": hash,
				"app.kubernetes.io/managed-by": "Helm",
			},
			Annotations: map[string]string{
				"prometheus.io/scrape": "true", "prometheus.io/port": "9090", "checksum/config": fmt.Sprintf("%064x", sr.Uint64()),
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app + "-" + hash, UID: owner, Controller: ptr(true), BlockOwnerDeletion: ptr(true),
			}},
		},
		Spec:   podSpec(app, token, node, set),
		Status: podStatus(r, app, node, after),
	}
}

func ptr[T any](v T) *T { return &v }

func podSpec(app, token string, node, set int) corev1.PodSpec {
	probe := func(path string) *corev1.Probe {
		return &corev1.Probe{
			ProbeHandler:     corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString("http"), Scheme: corev1.URISchemeHTTP}},
			TimeoutSeconds:   1,
			PeriodSeconds:    10,
			SuccessThreshold: 1, FailureThreshold: 3,
		}
	}
	c := corev1.Container{
		Name: app, Image: "registry.example.com/" + app + fmt.Sprintf(":v1.%d.0", set%17),
		Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}, {Name: "metrics", ContainerPort: 9090, Protocol: corev1.ProtocolTCP}},
		Resources: corev1.ResourceRequirements{
			Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("512Mi")},
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("256Mi")},
		},
		VolumeMounts: []corev1.VolumeMount{
			{Name: "config", MountPath: "/etc/" + app, ReadOnly: true},
			{Name: token, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true},
		},
		LivenessProbe: probe("/healthz"), ReadinessProbe: probe("/readyz"),
		TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: corev1.TerminationMessageReadFile,
		ImagePullPolicy: corev1.PullIfNotPresent,
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: ptr(false), RunAsNonRoot: ptr(true), ReadOnlyRootFilesystem: ptr(true),
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
	}
	for e := range 8 {
		c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprintf("SETTING_%d", e), Value: fmt.Sprintf("%s-value-%d", app, e)})
	}
	c.Env = append(c.Env,
		corev1.EnvVar{Name: "POD_IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "status.podIP"}}},
		corev1.EnvVar{Name: "PASSWORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: app}, Key: "password",
		}}})
	return corev1.PodSpec{
		Volumes: []corev1.Volume{
			{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: app}, DefaultMode: ptr(int32(420)),
			}}},
			{Name: token, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
				DefaultMode: ptr(int32(420)), Sources: tokenSources(),
			}}},
		},
		Containers: []corev1.Container{c}, RestartPolicy: corev1.RestartPolicyAlways, TerminationGracePeriodSeconds: ptr(int64(30)),
		DNSPolicy: corev1.DNSClusterFirst, ServiceAccountName: app, DeprecatedServiceAccount: app, NodeName: nodeName(node),
		SecurityContext: &corev1.PodSecurityContext{}, SchedulerName: "default-scheduler", Priority: ptr(int32(0)), EnableServiceLinks: ptr(true),
		PreemptionPolicy: ptr(corev1.PreemptLowerPriority),
		Tolerations: []corev1.Toleration{
			{Key: "node.kubernetes.io/not-ready", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr(int64(300))},
			{Key: "node.kubernetes.io/unreachable", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr(int64(300))},
		},
	}
}

func nodeName(node int) string {
	return fmt.Sprintf("ip-10-%d-%d-7.eu-west-1.compute.internal", node/200, node%200)
}

func tokenSources() []corev1.VolumeProjection {
	return []corev1.VolumeProjection{
		{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: ptr(int64(3607)), Path: "token"}},
		{ConfigMap: &corev1.ConfigMapProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
			Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
		}},
		{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
			{Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"}},
		}}},
	}
}

func podStatus(r *rand.Rand, app string, node int, after func(int) metav1.Time) corev1.PodStatus {
	condition := func(t corev1.PodConditionType, at metav1.Time) corev1.PodCondition {
		return corev1.PodCondition{Type: t, Status: corev1.ConditionTrue, LastTransitionTime: at}
	}
	scheduled, ready := after(0), after(10)
	ip := fmt.Sprintf("10.%d.%d.%d", 100+r.IntN(50), r.IntN(256), r.IntN(256))
	host := fmt.Sprintf("10.%d.%d.7", node/200, node%200)
	return corev1.PodStatus{
		Phase: corev1.PodRunning, HostIP: host, HostIPs: []corev1.HostIP{{IP: host}}, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}},
		StartTime: &scheduled, QOSClass: corev1.PodQOSBurstable,
		Conditions: []corev1.PodCondition{
			condition(corev1.PodReadyToStartContainers, ready), condition(corev1.PodInitialized, scheduled), condition(corev1.PodReady, ready),
			condition(corev1.ContainersReady, ready), condition(corev1.PodScheduled, scheduled),
		},
		ContainerStatuses: []corev1.ContainerStatus{{
			Name: app, Ready: true, Started: ptr(true), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: after(3)}},
			Image: "registry.example.com/" + app + ":v1", ImageID: "registry.example.com/" + app + "@sha256:" + strings.Repeat("0123456789abcdef", 4),
			ContainerID: "containerd://" + fmt.Sprintf("%016x%016x%016x%016x", r.Uint64(), r.Uint64(), r.Uint64(), r.Uint64()),
		}},
	}
}

// ConfigMap returns ConfigMap i: 1 KB of text that no other one has.
func ConfigMap(i int) *corev1.ConfigMap {
	r := random(3, i)
	text := func(n int) string {
		var b strings.Builder
		for b.Len() < n {
			fmt.Fprintf(&b, "%s = %s\n", suffix(r, 8), suffix(r, 16))
		}
		return b.String()
	}
	return &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("config-%06d-%s", i, suffix(r, 5)), Namespace: fmt.Sprintf("team-%02d", i/1000), UID: uid(r),
			ResourceVersion: fmt.Sprint(10_000_000 + i*7), CreationTimestamp: metav1.NewTime(start.Add(time.Duration(i) * time.Minute)),
		},
		Data: map[string]string{"app.conf": text(700), "extra-" + suffix(r, 4): text(300)},
	}
}
