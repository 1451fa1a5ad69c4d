package rows

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// template derives the encoded form of many pods from that of one: the fields that
// differ have a fixed length and are overwritten in place. So a server of 50,000
// pods is ready at once, and costs little while it is being read.
type template struct {
	encoded []byte
	places  []place
}

// place is where a part of the template that differs is.
type place struct {
	offset int
	format string // prints the number of the pod with the length of the mark
	first  int
}

// What stands in the template where pods differ. The formats give as many bytes.
const (
	nameMark    = "web-7f9c6d5b8-@@@@@@@@"
	nameFormat  = "web-7f9c6d5b8-%08x"
	uidMark     = "0b7f8a5c-4d3e-4f21-9c6b-@@@@@@@@@@@@"
	uidFormat   = "0b7f8a5c-4d3e-4f21-9c6b-%012x"
	versionMark = "77777777"
	versionForm = "%08d"

	firstVersion = 10_000_000
	listVersion  = "10999999"
)

func newTemplate(encoded []byte) *template {
	t := &template{encoded: encoded}
	for _, m := range []place{{format: nameFormat}, {format: uidFormat}, {format: versionForm, first: firstVersion}} {
		mark := map[string]string{nameFormat: nameMark, uidFormat: uidMark, versionForm: versionMark}[m.format]
		for at := 0; ; {
			i := bytes.Index(encoded[at:], []byte(mark))
			if i < 0 {
				break
			}
			m.offset = at + i
			t.places = append(t.places, m)
			at = m.offset + len(mark)
		}
	}
	return t
}

// appendPod appends pod i, in a later version if changed.
func (t *template) appendPod(dst []byte, i int, changed bool) []byte {
	version := i
	if changed {
		version += firstVersion
	}
	return t.append(dst, i, version)
}

// append appends object i in a version, which counts from the first one.
func (t *template) append(dst []byte, i, version int) []byte {
	start := len(dst)
	dst = append(dst, t.encoded...)
	for _, p := range t.places {
		n := i
		if p.first > 0 {
			n = version + p.first
		}
		_ = fmt.Appendf(dst[start+p.offset:start+p.offset], p.format, n)
	}
	return dst
}

// typicalPod is a pod of about 2.5 KB of JSON, as Deployments make them.
func typicalPod() *corev1.Pod {
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
			Name: nameMark, GenerateName: "web-7f9c6d5b8-", Namespace: "shop-production",
			UID: uidMark, ResourceVersion: versionMark, CreationTimestamp: now,
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

// encoding is how pods travel.
type encoding struct {
	contentType string
	// pod is a pod as an item of a list, event as an event of a watch.
	pod, event *template
	// list returns the body of a list of items that are encoded by pod.
	list func(items [][]byte) []byte
	// frame returns a frame of a watch response.
	frame func(eventType string, obj runtime.Object) []byte
}

func newJSONEncoding() *encoding {
	frame := func(eventType string, obj runtime.Object) []byte {
		return append(must(json.Marshal(metav1.WatchEvent{Type: eventType, Object: runtime.RawExtension{Object: obj}})), '\n')
	}
	return &encoding{
		contentType: "application/json",
		pod:         newTemplate(must(json.Marshal(typicalPod()))),
		event:       newTemplate(frame("ADDED", typicalPod())),
		list: func(items [][]byte) []byte {
			head := fmt.Sprintf(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":%q},"items":[`, listVersion)
			return append(append([]byte(head), bytes.Join(items, []byte{','})...), "]}\n"...)
		},
		frame: frame,
	}
}

// protobufMagic begins every object in the protobuf form of Kubernetes.
const protobufMagic = "k8s\x00"

func newProtobufEncoding() *encoding {
	envelope := func(kind string, raw []byte) []byte {
		u := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: kind}, Raw: raw}
		return append([]byte(protobufMagic), must(u.Marshal())...)
	}
	frame := func(eventType string, obj runtime.Object) []byte {
		raw := must(obj.(interface{ Marshal() ([]byte, error) }).Marshal())
		event := metav1.WatchEvent{Type: eventType, Object: runtime.RawExtension{Raw: envelope(kindOf(obj), raw)}}
		body := must(event.Marshal())
		return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
	}
	return &encoding{
		contentType: "application/vnd.kubernetes.protobuf",
		pod:         newTemplate(must(typicalPod().Marshal())),
		event:       newTemplate(frame("ADDED", typicalPod())),
		list: func(items [][]byte) []byte {
			list := must((&corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: listVersion}}).Marshal())
			for _, item := range items {
				list = append(list, 2<<3|2) // the field of the items
				list = binary.AppendUvarint(list, uint64(len(item)))
				list = append(list, item...)
			}
			return envelope("PodList", list)
		},
		frame: frame,
	}
}

func kindOf(obj runtime.Object) string {
	switch obj.(type) {
	case *metav1.Status:
		return "Status"
	case *corev1.ConfigMap:
		return "ConfigMap"
	}
	return "Pod"
}
