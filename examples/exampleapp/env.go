package exampleapp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/demo"
	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/controller"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/reflector"
)

// start starts the embedded API server, with the namespace of -namespace, unless the example
// runs on a cluster, or offline.
func (e *Env) start(offline bool) (stop func(), err error) {
	url := e.InspectURL()
	if !e.embedded && url != "" { // else the demo says so
		e.Log.Info("informers and queues are shown", "url", url)
	}
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
	if url != "" {
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

// Identity is how a replica appears in Leases: in a pod its name, and on one machine the process
// number distinguishes them.
func Identity() (string, error) {
	host, err := os.Hostname()
	return strings.ToLower(fmt.Sprintf("%s-%d", host, os.Getpid())), err
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

// Beside runs the parts of an example next to its script, which is what the user
// does. With -once it ends after the script, else when ctx does: the user can try
// commands of kubectl, for which App.Try has the arguments.
func (e *Env) Beside(ctx context.Context, script demo.Step, parts ...func(context.Context) error) error {
	return demo.Beside(ctx, func(ctx context.Context) error {
		if err := script(ctx); err != nil || e.Once {
			return err
		}
		e.Transcript.Say("demo", "goes on until you press Ctrl-C")
		if e.Embedded() {
			for _, args := range e.try {
				_, _ = fmt.Fprintf(e.Out, "    kubectl --server %s %s\n", e.Config.Host, args)
			}
		}
		<-ctx.Done()
		return nil
	}, parts...)
}

// Step prints the heading of the next step of an example that takes one after the other, and Result what came of it.
func (e *Env) Step(says string) {
	e.steps++
	_, _ = fmt.Fprintf(e.Out, "\n%d. %s\n", e.steps, says)
}

// Result prints a line below the heading.
func (e *Env) Result(format string, args ...any) {
	_, _ = fmt.Fprintf(e.Out, "   "+format+"\n", args...)
}

const cleanupTimeout = 10 * time.Second

// CleanUp deletes the namespace that an example has made, whatever has happened, also after Ctrl-C. It
// returns err, with which the example ends, and what went wrong. A namespace that was there before is
// not the example's to delete, so none is given.
func CleanUp[T client.Object](ctx context.Context, namespaces *client.Client[T], made T, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	gone := client.IgnoreNotFound(namespaces.Delete(ctx, client.KeyOf(made), client.Exactly(made)))
	if gone == nil {
		return err
	}
	if errors.Is(err, context.Canceled) {
		err = nil // Ctrl-C is no failure, but this is
	}
	return errors.Join(err, fmt.Errorf("namespace %s is left behind, delete it by hand: %w", made.GetName(), gone))
}
