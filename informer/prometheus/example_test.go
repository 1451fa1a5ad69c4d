package prometheus_test

import (
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"

	prom "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/prometheus"
	"github.com/informerkit/informerkit/reflector"
	"github.com/informerkit/informerkit/workqueue"
)

// An informer and a queue, and what Prometheus sees of them.
func Example() {
	server, err := informertest.NewServer(informertest.Options{}) // or your cluster
	must(err)
	defer server.Close()
	must(server.Create(&corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "colours"},
	}))
	source, err := reflector.NewResource[*corev1.ConfigMap](server.Config(),
		corev1.SchemeGroupVersion.WithResource("configmaps"), reflector.ResourceOptions{})
	must(err)

	registry := prom.NewRegistry()
	provider, err := prometheus.New(registry)
	must(err)

	inf, err := informer.New(source, informer.Options[*corev1.ConfigMap]{Name: "configmaps", Metrics: provider})
	must(err)
	queue := workqueue.NewRateLimiting(nil, workqueue.Options[types.NamespacedName]{Name: "configmaps", Metrics: provider})
	handler, err := inf.AddHandler(informer.EnqueueKey[*corev1.ConfigMap](queue), informer.HandlerOptions{Name: "enqueue"})
	must(err)

	ctx, cancel := context.WithCancel(context.Background())
	defer func() { cancel(); <-inf.Done() }()
	go func() { must(inf.Run(ctx)) }()
	must(informer.WaitForSync(ctx, inf, handler))

	target := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	defer target.Close()
	answer, err := target.Client().Get(target.URL)
	must(err)
	defer answer.Body.Close()
	page, err := io.ReadAll(answer.Body)
	must(err)
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "workqueue_depth") || strings.HasPrefix(line, "informer_objects{") {
			fmt.Print(line)
		}
	}
	// Output:
	// informer_objects{name="configmaps"} 1
	// workqueue_depth{name="configmaps"} 1
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
