package clients

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/informerkit/informerkit/informer/informertest"
)

// BenchmarkStart starts and closes a server.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		server, err := informertest.NewServer(informertest.Options{})
		require.NoError(b, err)
		server.Close()
	}
}

// BenchmarkWritesToTheEmbeddedServer is beside the same for the real server in package e2e.
func BenchmarkWritesToTheEmbeddedServer(b *testing.B) {
	BenchmarkWrites(b, informertest.Start(b, informertest.Options{}).Config())
}

// BenchmarkThousandTests runs as many servers at once, with twenty objects each.
func BenchmarkThousandTests(b *testing.B) {
	for b.Loop() {
		var tests sync.WaitGroup
		for range 1000 {
			tests.Go(func() {
				server := informertest.Start(b, informertest.Options{InMemory: true})
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
	server := informertest.Start(b, informertest.Options{})
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
