// Command deltafifo is the classic chain by hand: a reflector writes to a
// DeltaFIFO, a loop pops from it, applies the deltas to an indexer and calls the
// handlers. It is what client-go's cache.Config and its controller do:
//
//	ListerWatcher       reflector.NewResource
//	Queue               deltafifo.New
//	ObjectType          the type parameter
//	Process             apply
//	RetryOnError        AddIfNotPresent in apply (client-go has removed both)
//	FullResyncPeriod    the ticker in resync; ShouldResync is whether to call Resync
//	WatchErrorHandler   reflector.Options.OnStateChange, Backoff and Policy
//	WatchListPageSize   reflector.Options.PageSize
package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/informerkit/informerkit/deltafifo"
	"github.com/informerkit/informerkit/examples/demo"
	"github.com/informerkit/informerkit/examples/exampleapp"
	"github.com/informerkit/informerkit/indexer"
	"github.com/informerkit/informerkit/reflector"
)

func main() { exampleapp.Main(app) }

var app = exampleapp.App{Name: "deltafifo", About: "The chain of reflector, DeltaFIFO and indexer, by hand.", OnceOnCluster: true, Takes: exampleapp.TakesNamespace, Run: run}

// chain is what an informer puts together.
type chain struct {
	queue      *deltafifo.DeltaFIFO[*corev1.ConfigMap]
	store      *indexer.Indexer[*corev1.ConfigMap]
	transcript *demo.Transcript
	full       atomic.Bool // lets the next write fail
}

func run(ctx context.Context, env *exampleapp.Env) error {
	store, err := indexer.New(indexer.Options[*corev1.ConfigMap]{})
	if err != nil {
		return err
	}
	// The queue looks into the store to find what a list lacks.
	queue := deltafifo.New(deltafifo.Options[*corev1.ConfigMap]{KnownObjects: store})
	c := &chain{queue: queue, store: store, transcript: env.Transcript}
	source, err := reflector.NewResource[*corev1.ConfigMap](env.Config, corev1.SchemeGroupVersion.WithResource("configmaps"),
		reflector.ResourceOptions{Namespace: env.Namespace})
	if err != nil {
		return err
	}
	r, err := reflector.New(source, queue, reflector.Options{
		PageSize: 500,
		Logger:   env.PartLog(),
		Policy:   env.Policy(),
		OnStateChange: func(h reflector.Health) {
			if h.State == reflector.StateSynced {
				env.Transcript.Say("reflector", "the queue has the whole list")
			}
		},
	})
	if err != nil {
		return err
	}
	return env.Beside(ctx, script(env, c), r.Run, c.loop, c.resync)
}

// retryPause is between an error and the next Pop: what failed may fail again.
const retryPause = 50 * time.Millisecond

// loop pops until ctx ends. An error of one object does not end it.
func (c *chain) loop(ctx context.Context) error {
	defer c.queue.Close()
	for {
		err := c.queue.Pop(ctx, c.apply)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			c.transcript.Say("loop", "%v", err)
			select {
			case <-time.After(retryPause):
			case <-ctx.Done():
			}
		}
	}
}

// apply brings the store up to date with each object, and then calls the handler, which
// therefore finds in the store what it is called for.
func (c *chain) apply(batch deltafifo.Batch[*corev1.ConfigMap]) error {
	var errs []error
	for _, deltas := range batch.ByObject() {
		if err := c.write(deltas); err != nil {
			// They go to the back of the queue, unless newer deltas are there already.
			err = fmt.Errorf("%w; %s is put back", err, deltas.Newest().Key().Name)
			errs = append(errs, err, c.queue.AddIfNotPresent(deltas))
			continue
		}
		for _, d := range deltas {
			if d.FinalStateUnknown {
				c.transcript.Say("handler", "%s %s: a tombstone, its last state was not seen", d.Type, d.Key().Name)
			} else {
				c.transcript.Say("handler", "%s %s", d.Type, d.Key().Name)
			}
		}
	}
	return errors.Join(errs...)
}

// write writes all deltas of an object to the store, or none.
func (c *chain) write(deltas deltafifo.Deltas[*corev1.ConfigMap]) error {
	if c.full.CompareAndSwap(true, false) {
		return errors.New("the disk is full")
	}
	batch := c.store.Batch()
	defer batch.Discard()
	for _, d := range deltas {
		if d.Type == deltafifo.Deleted {
			batch.Delete(d.Key())
		} else if _, _, err := batch.Set(d.Object); err != nil {
			return err
		}
	}
	batch.Commit()
	return nil
}

// resync looks at everything again from time to time. It does not ask the server.
func (c *chain) resync(ctx context.Context) error {
	ticker := time.NewTicker(10 * time.Minute)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if err := c.queue.Resync(ctx); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// script is what you do beside the chain. On a cluster you do it by hand.
func script(env *exampleapp.Env, c *chain) demo.Step {
	transcript := env.Transcript
	switch {
	case !env.Embedded() && env.Once:
		return transcript.Sees("the whole list")
	case !env.Embedded():
		return demo.Steps()
	}
	you := demo.NewConfigMaps(env.Config, transcript, env.Namespace)
	return demo.Steps(
		transcript.Sees("the whole list"),
		you.Create("colours", nil), transcript.Sees("Added colours"),
		transcript.Do("you", "fill the disk", func() { c.full.Store(true) }),
		you.Label("colours", map[string]string{"sky": "blue"}), transcript.Sees("is put back", "Updated colours"),
		transcript.Do("you", "ask for a resync", func() {}),
		func(ctx context.Context) error { return c.queue.Resync(ctx) },
		transcript.Sees("Sync colours"),
		// The deletion is not seen. The next list lacks the object, so the queue makes it up.
		env.Forgets(you.Namespace), transcript.Sees("Deleted colours", "Replaced shapes"),
	)
}
