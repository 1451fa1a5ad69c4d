//go:build unix

package reflector_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/internal/verify/scripted"
	"github.com/informerkit/informerkit/reflector"
)

// heldSink keeps the objects of the last list.
type heldSink[T reflector.Object] struct {
	state map[types.NamespacedName]T
	lists chan struct{}
}

func (s *heldSink[T]) Known(key types.NamespacedName) (T, bool) { o, ok := s.state[key]; return o, ok }
func (s *heldSink[T]) Add(context.Context, T) error             { return nil }
func (s *heldSink[T]) Update(context.Context, T) error          { return nil }
func (s *heldSink[T]) Delete(context.Context, T) error          { return nil }
func (s *heldSink[T]) Bookmark(context.Context, string) error   { return nil }
func (s *heldSink[T]) Replace(_ context.Context, objs []T, _ string) error {
	for _, o := range objs {
		s.state[keyOf(o)] = o
	}
	s.lists <- struct{}{}
	return nil
}

// realisticPod has some 2 KB of protobuf.
func realisticPod(i, rv int) corev1.Pod {
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: fmt.Sprint("team-", i%20), Name: fmt.Sprintf("web-7d4b9c-%05d", i), UID: types.UID(fmt.Sprintf("2b1c9c1e-0000-4000-8000-%012d", i)),
		ResourceVersion: fmt.Sprint(rv), Labels: map[string]string{"app": "web", "tier": "front", "pod-template-hash": "7d4b9c"},
		Annotations:     map[string]string{"example.com/checksum": fmt.Sprintf("%064x", i)},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-7d4b9c", UID: "2b1c"}},
	}}
	c := corev1.Container{Name: "main", Image: "registry.example.com/team/image:v1.2.3"}
	for j := range 10 {
		c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprint("VARIABLE_", j), Value: fmt.Sprint("value-", j)})
	}
	for range 3 {
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "token", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"})
	}
	p.Spec.Containers = []corev1.Container{c, c}
	for _, typ := range []corev1.PodConditionType{corev1.PodReady, corev1.PodInitialized, corev1.PodScheduled, corev1.ContainersReady} {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: typ, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Unix(1_700_000_000, 0)})
	}
	return p
}

// BenchmarkRelist reads 5,000 pods again of which 1% have changed, and reports the
// processor time per list. It is that of client and server, but the server's answers
// are ready.
func BenchmarkRelist(b *testing.B) {
	const n = 5000
	var asJSON, asProto [2][]byte
	for version := range 2 {
		list := corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "9"}}
		for i := range n {
			rv := 1
			if i%100 == 0 {
				rv = 2 + version
			}
			list.Items = append(list.Items, realisticPod(i, rv))
		}
		raw, err := json.Marshal(&list)
		require.NoError(b, err)
		asJSON[version] = append([]byte(`{"kind":"PodList","apiVersion":"v1",`), raw[1:]...)
		raw, err = list.Marshal()
		require.NoError(b, err)
		u := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Raw: raw}
		raw, err = u.Marshal()
		require.NoError(b, err)
		asProto[version] = append([]byte("k8s\x00"), raw...)
	}
	for _, decode := range []bool{true, false} {
		benchmarkRelist[*corev1.Pod](b, "json", decode, asJSON)
		benchmarkRelist[*corev1.Pod](b, "protobuf", decode, asProto)
		benchmarkRelist[*unstructured.Unstructured](b, "json", decode, asJSON)
	}
}

func benchmarkRelist[T reflector.Object](b *testing.B, encoding string, decodeUnchanged bool, bodies [2][]byte) {
	name := fmt.Sprintf("%s/%s/decodeUnchanged=%t", encoding, strings.TrimPrefix(fmt.Sprintf("%T", *new(T)), "*"), decodeUnchanged)
	b.Run(name, func(b *testing.B) {
		mime := map[string]string{"json": "application/json", "protobuf": "application/vnd.kubernetes.protobuf"}[encoding]
		s := &scripted.Server{Watch: scripted.Fails(410, ""), List: func(w httpWriter, _ *httpRequest, list int) {
			w.Header().Set("Content-Type", mime)
			_, _ = w.Write(bodies[list%2])
		}}
		pods := corev1.SchemeGroupVersion.WithResource("pods")
		source, err := reflector.NewResource[T](s.Config(b), pods, reflector.ResourceOptions{})
		require.NoError(b, err)
		sink := &heldSink[T]{state: map[types.NamespacedName]T{}, lists: make(chan struct{})}
		r, err := reflector.New(source, sink, reflector.Options{
			Sync: reflector.SyncList, DecodeUnchanged: decodeUnchanged,
			Policy: func(reflector.Failure) reflector.Decision { return reflector.RetryAfter(time.Millisecond) },
		})
		require.NoError(b, err)
		ctx, cancel := context.WithCancel(b.Context())
		done := make(chan error)
		go func() { done <- r.Run(ctx) }()
		<-sink.lists
		b.ReportAllocs()
		before := processorTime(b)
		for b.Loop() {
			<-sink.lists
		}
		b.ReportMetric(float64(processorTime(b)-before)/float64(b.N)/1e6, "cpu-ms/op")
		cancel()
		for {
			select {
			case <-sink.lists:
				continue
			case err := <-done:
				require.NoError(b, err)
			}
			return
		}
	})
}

// processorTime is that of the process so far.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
