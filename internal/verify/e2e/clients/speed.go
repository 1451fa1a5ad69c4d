package clients

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/internal/verify/measure"
)

// BenchmarkWrites creates, updates and deletes a config map through a typed client
// of the server that cfg leads to. The processor time is that of this process: it includes an
// embedded server, but not one that is a process of its own.
func BenchmarkWrites(b *testing.B, cfg *rest.Config) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1
	ctx, client := b.Context(), kubernetes.NewForConfigOrDie(cfg).CoreV1().ConfigMaps("default")
	writes := func(name string) {
		cm, err := client.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "bench"}},
			Data:       map[string]string{"k": "v"},
		}, metav1.CreateOptions{})
		require.NoError(b, err)
		cm.Data["k"] = "w"
		_, err = client.Update(ctx, cm, metav1.UpdateOptions{})
		require.NoError(b, err)
		require.NoError(b, client.Delete(ctx, cm.Name, metav1.DeleteOptions{}))
	}
	writes("bench-first") // the first write of a process reads schemas
	started := measure.CPUTime()
	for i := 0; b.Loop(); i++ {
		writes(fmt.Sprintf("bench-%d", i))
	}
	b.ReportMetric(float64(measure.CPUTime()-started)/float64(3*b.N), "cpu-ns/write")
	b.ReportMetric(float64(b.Elapsed())/float64(3*b.N), "ns/write")
}
