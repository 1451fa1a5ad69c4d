// Command cmd shows what step 10 mends. With -kubeconfig it runs the controller on a cluster.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/informerkit/informerkit/examples/build/flaws"
	step10 "github.com/informerkit/informerkit/examples/build/step10"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "the file that leads to a cluster; without it, an embedded server and a demo")
	namespace := flag.String("namespace", "default", "the namespace of the ConfigMaps")
	flag.Parse()
	if *kubeconfig == "" {
		flaws.Main(10)
		return
	}
	if err := run(*kubeconfig, *namespace); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run runs a replica until Ctrl-C.
func run(kubeconfig, namespace string) error {
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	replica, err := step10.NewController(cfg, namespace, fmt.Sprintf("%s-%d", host, os.Getpid()))
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var printing sync.WaitGroup
	defer printing.Wait()
	printing.Go(func() { replica.Informer.Follow(ctx, func(event step10.Event) { fmt.Println(event) }) })
	return replica.Run(ctx, 2)
}
