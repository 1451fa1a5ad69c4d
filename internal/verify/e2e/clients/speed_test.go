package clients

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/internal/verify/measure"
)

// BenchmarkStart starts and closes a server.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		server, err := informertest.NewServer(informertest.Options{Scheme: scheme.Scheme})
		require.NoError(b, err)
		server.Close()
	}
}

// BenchmarkWritesToTheEmbeddedServer is beside the same for the real server in package e2e.
func BenchmarkWritesToTheEmbeddedServer(b *testing.B) {
	BenchmarkWrites(b, informertest.Start(b, informertest.Options{Scheme: scheme.Scheme}).Config())
}

// BenchmarkPodWritesToTheEmbeddedServer writes objects of which much is checked.
func BenchmarkPodWritesToTheEmbeddedServer(b *testing.B) {
	cfg := rest.CopyConfig(informertest.Start(b, informertest.Options{Scheme: scheme.Scheme}).Config())
	cfg.QPS = -1
	ctx, client := b.Context(), kubernetes.NewForConfigOrDie(cfg).CoreV1().Pods("default")
	writes := func(name string) {
		pod, err := client.Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "bench"}},
			Spec: corev1.PodSpec{
				Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
				Containers: []corev1.Container{{
					Name: "c", Image: "i:1", Ports: []corev1.ContainerPort{{ContainerPort: 80}}, Env: []corev1.EnvVar{{Name: "A", Value: "b"}},
					VolumeMounts: []corev1.VolumeMount{{Name: "v", MountPath: "/v"}},
				}},
			},
		}, metav1.CreateOptions{})
		require.NoError(b, err)
		pod.Labels["app"] = "other"
		pod, err = client.Update(ctx, pod, metav1.UpdateOptions{})
		require.NoError(b, err)
		require.NoError(b, client.Delete(ctx, pod.Name, metav1.DeleteOptions{}))
	}
	writes("bench-first")
	started := measure.CPUTime()
	for i := 0; b.Loop(); i++ {
		writes(fmt.Sprintf("bench-%d", i))
	}
	b.ReportMetric(float64(measure.CPUTime()-started)/float64(3*b.N), "cpu-ns/write")
}

// BenchmarkWritesToAConstantAnswer is what the client and the connection cost in the
// benchmark above: the server answers each request with the first answer of its kind.
func BenchmarkWritesToAConstantAnswer(b *testing.B) {
	embedded := informertest.Start(b, informertest.Options{Scheme: scheme.Scheme})
	var mu sync.Mutex
	answers := map[string]*httptest.ResponseRecorder{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		answer := answers[r.Method]
		if answer == nil {
			answer = httptest.NewRecorder()
			embedded.ServeHTTP(answer, r)
			answers[r.Method] = answer
		}
		mu.Unlock()
		_, _ = io.Copy(io.Discard, r.Body) // as a server does that reads its requests
		w.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes()) // the client would notice
	}))
	defer server.Close()
	BenchmarkWrites(b, &rest.Config{Host: server.URL})
}

// BenchmarkThousandTests runs as many servers at once, with twenty objects each.
func BenchmarkThousandTests(b *testing.B) {
	for b.Loop() {
		var tests sync.WaitGroup
		for range 1000 {
			tests.Go(func() {
				server := informertest.Start(b, informertest.Options{InMemory: true, Scheme: scheme.Scheme})
				defer server.Close()
				client := kubernetes.NewForConfigOrDie(server.Config()).CoreV1().ConfigMaps("default")
				for i := range 20 {
					_, err := client.Create(b.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("o", i)}}, metav1.CreateOptions{})
					if err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		tests.Wait()
	}
}

// BenchmarkListAndWatchManyObjects lists 100,000 objects and watches them from the
// start.
func BenchmarkListAndWatchManyObjects(b *testing.B) {
	const objects = 100_000
	server := informertest.Start(b, informertest.Options{Scheme: scheme.Scheme})
	for i := range objects {
		require.NoError(b, server.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("o", i)}}))
	}
	client := kubernetes.NewForConfigOrDie(server.Config()).CoreV1().ConfigMaps("default")
	for b.Loop() {
		list, err := client.List(b.Context(), metav1.ListOptions{})
		require.NoError(b, err)
		require.Len(b, list.Items, objects)
		w, err := client.Watch(b.Context(), metav1.ListOptions{ResourceVersion: "0"})
		require.NoError(b, err)
		for range objects {
			<-w.ResultChan()
		}
		w.Stop()
	}
}
