// Command controlplane runs a real kube-apiserver and etcd on 127.0.0.1 until it is
// interrupted, for trying the examples where there is no cluster at hand:
//
//	go -C internal/verify/e2e run ./cmd/controlplane
//
// prints the path of a kubeconfig file. With -build it only builds the programs.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/informerkit/informerkit/internal/verify/e2e/controlplane"
)

func main() {
	buildOnly := flag.Bool("build", false, "build the programs and exit")
	manager := flag.Bool("controller-manager", false, "run the kube-controller-manager, too")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *buildOnly, *manager); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run builds and, unless flags say otherwise, runs a control plane until ctx ends.
func run(ctx context.Context, buildOnly, manager bool) (err error) {
	if buildOnly {
		programs := []controlplane.Program{controlplane.Etcd, controlplane.KubeAPIServer, controlplane.Kubectl}
		if manager {
			programs = append(programs, controlplane.KubeControllerManager)
		}
		paths, err := controlplane.Build(ctx, os.Stderr, programs...)
		for _, path := range paths {
			fmt.Println(path)
		}
		return err
	}
	cp, err := controlplane.Start(ctx, controlplane.Options{ControllerManager: manager, Progress: os.Stderr})
	if err != nil {
		return err
	}
	defer func() {
		if stopErr := cp.Stop(); err == nil {
			err = stopErr
		}
	}()
	kubeconfig, err := cp.Kubeconfig()
	if err != nil {
		return err
	}
	fmt.Printf("export KUBECONFIG=%s\n", kubeconfig)
	<-ctx.Done()
	return nil
}
