// Command cmd runs the operator: on the cluster of $KUBECONFIG, or on that of its pod.
package main

import (
	"context"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	prom "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/informerkit/informerkit/examples/backup"
	"github.com/informerkit/informerkit/informer/controller"
	"github.com/informerkit/informerkit/informer/inspect"
	"github.com/informerkit/informerkit/informer/leader"
	"github.com/informerkit/informerkit/informer/prometheus"
	"github.com/informerkit/informerkit/workqueue/history"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	recorder := history.New(history.Options{})
	page := must(inspect.New(inspect.Options{History: recorder}))
	operator := backup.New(controller.Options{
		Config: must(clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))), Name: "backup", Workers: 2,
		Leader:  leader.ByLease(leader.Options{Name: "backup", Namespace: "informerkit-backup"}),
		Metrics: must(prometheus.New(prom.DefaultRegisterer)), History: recorder, Health: ":8081",
		Serve: map[string]http.Handler{":8081": promhttp.Handler(), "127.0.0.1:6060": page},
	})
	must(page.Add(inspect.Factory(operator), inspect.Queue(operator)))
	if err := operator.Run(ctx); err != nil {
		log.Fatal(err)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}
