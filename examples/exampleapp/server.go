package exampleapp

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/demo"
	"github.com/informerkit/informerkit/informer/controller"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/reflector"
)

// start starts the embedded API server, with the namespace of -namespace, unless the example
// runs on a cluster, or offline.
func (e *Env) start(offline bool) (stop func(), err error) {
	if !e.embedded || offline {
		return func() {}, nil
	}
	if e.Server, err = informertest.NewServer(informertest.Options{}); err != nil {
		return nil, err
	}
	if e.Namespace != "" {
		err = e.Server.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.Namespace}})
		if err != nil && !apierrors.IsAlreadyExists(err) { // one of those that every server has
			e.Server.Close()
			return nil, err
		}
	}
	e.Config = e.Server.Config()
	e.Transcript.Say("server", "an embedded API server listens on %s", e.Config.Host)
	if url := e.InspectURL(); url != "" {
		e.Transcript.Say("inspect", "informers and queues are shown at %s", url)
	}
	return e.Server.Close, nil
}

// Controller returns the options of a controller that reaches its API server by cfg.
func (e *Env) Controller(cfg *rest.Config) controller.Options {
	opts := controller.Options{Config: cfg, Workers: e.Workers, Logger: e.PartLog(), History: e.History}
	if e.Namespace != "" {
		opts.Informers.Namespaces = []string{e.Namespace}
	}
	return opts
}

// PartLog is the log of the parts of an example. What fails on the embedded server
// is part of the demo, which prints it; and what ends an example is printed by Main.
func (e *Env) PartLog() *slog.Logger {
	if e.Embedded() || e.Once {
		return slog.New(slog.DiscardHandler)
	}
	return e.Log
}

// Policy is for reflector.Options. An example that ends by itself on a cluster
// ends also if it cannot even read there; any other tries again until it can.
func (e *Env) Policy() func(reflector.Failure) reflector.Decision {
	if e.Once && !e.Embedded() {
		return StopUnlessSynced
	}
	return nil
}

// StopUnlessSynced is a policy that lets a reflector fail with the first error
// before it has read everything, as a program would that only reads once.
func StopUnlessSynced(f reflector.Failure) reflector.Decision {
	if !f.Synced {
		return reflector.Stop()
	}
	return reflector.Retry()
}

// Forgets is a step in which the embedded server is away. Meanwhile ConfigMap colours, which exists, is deleted,
// and shapes is created, and the server forgets that history: a watch cannot be resumed.
func (e *Env) Forgets(namespace string) demo.Step {
	return e.Transcript.Do("server", "is away; until it is back, colours is deleted, shapes created, and the history forgotten", func() {
		_ = e.Server.Pause()
		_ = e.Server.Delete(corev1.SchemeGroupVersion.WithResource("configmaps"), namespace, "colours")
		_ = e.Server.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shapes"}})
		e.Server.Compact()
		_ = e.Server.Resume()
	})
}

// Identity is how a replica appears in Leases: in a pod its name, and on one machine the process
// number distinguishes them.
func Identity() (string, error) {
	host, err := os.Hostname()
	return strings.ToLower(fmt.Sprintf("%s-%d", host, os.Getpid())), err
}

// Beside runs the parts of an example next to its script, which is what the user
// does. With -once it ends after the script, else when ctx does.
func (e *Env) Beside(ctx context.Context, script func(context.Context) error, parts ...func(context.Context) error) error {
	return demo.Beside(ctx, func(ctx context.Context) error {
		if err := script(ctx); err != nil {
			return err
		}
		return e.GoOn(ctx)
	}, parts...)
}

// GoOn is the last step of a script: unless -once is given it lasts until ctx ends, and the user can try
// commands of kubectl, for which App.Try has the arguments.
func (e *Env) GoOn(ctx context.Context) error {
	if e.Once {
		return nil
	}
	e.Transcript.Say("demo", "goes on until you press Ctrl-C")
	if e.Embedded() {
		for _, args := range e.try {
			_, _ = fmt.Fprintf(e.Out, "    kubectl --server %s %s\n", e.Config.Host, args)
		}
	}
	<-ctx.Done()
	return nil
}
