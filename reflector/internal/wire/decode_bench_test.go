package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8sjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"
)

// busyPods are of the size that pods have in clusters, some 2.5 KB of JSON.
func busyPods(n int) *corev1.PodList {
	list := samplePods(n)
	for i := range list.Items {
		p := &list.Items[i]
		p.Annotations = map[string]string{"kubernetes.io/config.seen": "2026-01-01T00:00:00Z", "example.com/checksum": fmt.Sprintf("%064x", i)}
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-7d4b9c", UID: "2b1c"}}
		for j := range 2 {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{
				Name: fmt.Sprint("c", j), Image: "registry.example.com/team/image:v1.2.3",
				Env:          []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}},
				VolumeMounts: []corev1.VolumeMount{{Name: "token", MountPath: "/var/run/secrets"}},
			})
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: fmt.Sprint("c", j), ImageID: "sha256:abcdef", ContainerID: "containerd://1234", Ready: true})
		}
		for _, c := range []corev1.PodConditionType{corev1.PodReady, corev1.PodInitialized, corev1.PodScheduled} {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: c, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastTransitionTime: metav1.Now()})
		}
	}
	return list
}

// BenchmarkDecode decodes 1,000 pods, as a list and as the events of a watch.
// "whole" is what a client does that decodes a list in one piece.
func BenchmarkDecode(b *testing.B) {
	list := busyPods(1000)
	asJSON, err := json.Marshal(list)
	require.NoError(b, err)
	asJSON = append([]byte(`{"kind":"PodList","apiVersion":"v1",`), asJSON[1:]...)
	asProto := envelope(b, "PodList", list)
	var asEvents, asProtoEvents []byte
	for i := range list.Items {
		raw, err := json.Marshal(&list.Items[i])
		require.NoError(b, err)
		asEvents = append(asEvents, fmt.Sprintf(`{"type":"ADDED","object":%s}`+"\n", raw)...)
		asProtoEvents = append(asProtoEvents, frame(b, watch.Added, envelope(b, "Pod", &list.Items[i]))...)
	}
	each := func(*corev1.Pod, error) error { return nil }
	run := func(name string, size int, f func(c *codec[*corev1.Pod])) {
		b.Run(name, func(b *testing.B) {
			c, err := newCodec[*corev1.Pod]("v1", Options{})
			require.NoError(b, err)
			b.ReportAllocs()
			b.SetBytes(int64(size))
			for b.Loop() {
				f(c)
			}
		})
	}
	run("list/json", len(asJSON), func(c *codec[*corev1.Pod]) { _, _ = listJSON(c, bytes.NewReader(asJSON), each) })
	run("list/json/whole", len(asJSON), func(*codec[*corev1.Pod]) { _ = k8sjson.Unmarshal(asJSON, &corev1.PodList{}) })
	run("list/proto", len(asProto), func(c *codec[*corev1.Pod]) { _, _ = listProto(c, bytes.NewReader(asProto), each) })
	run("watch/json", len(asEvents), func(c *codec[*corev1.Pod]) {
		for next, err := jsonEvents(c, bytes.NewReader(asEvents)), error(nil); err == nil; _, err = next() {
		}
	})
	run("watch/proto", len(asProtoEvents), func(c *codec[*corev1.Pod]) {
		for next, err := protoEvents(c, bytes.NewReader(asProtoEvents)), error(nil); err == nil; _, err = next() {
		}
	})
	b.Run("list/json/unstructured", func(b *testing.B) {
		c, err := newCodec[*unstructured.Unstructured]("v1", Options{})
		require.NoError(b, err)
		b.ReportAllocs()
		b.SetBytes(int64(len(asJSON)))
		for b.Loop() {
			_, _ = listJSON(c, bytes.NewReader(asJSON), func(*unstructured.Unstructured, error) error { return nil })
		}
	})
}
