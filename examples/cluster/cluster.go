// Package cluster plays the parts of a cluster that an API server alone does
// not have: a node that runs pods, and the garbage collector that deletes what
// a deleted object owned.
//
// An example that runs on an API server without nodes and without
// kube-controller-manager needs both to see its pods become ready and go away.
// They are controllers like any other, and small ones to read.
package cluster

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/demo"
	"github.com/informerkit/informerkit/indexer"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/reflector"
)

var podResource = corev1.SchemeGroupVersion.WithResource("pods")

// Cluster is a node and a garbage collector for pods.
type Cluster struct {
	node      *node
	collector *collector
	pods      *informer.Informer[*corev1.Pod]
}

// Options configures New.
type Options struct {
	// Namespace restricts the cluster to one namespace; empty means all.
	Namespace string
	// Owners is a custom resource and OwnerKind its kind: the garbage collector
	// deletes the pods whose controller is an object of it that is gone.
	Owners    schema.GroupVersionResource
	OwnerKind string
	// Transcript prints what the cluster does; nil prints nothing.
	Transcript *demo.Transcript
	// Log gets what goes wrong; nil discards it.
	Log *slog.Logger
}

// New returns a cluster on the API server of cfg.
func New(cfg *rest.Config, opts Options) (*Cluster, error) {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.Transcript == nil {
		opts.Transcript = demo.NewTranscript(io.Discard)
	}
	source, err := reflector.NewResource[*corev1.Pod](cfg, podResource, reflector.ResourceOptions{Namespace: opts.Namespace})
	if err != nil {
		return nil, err
	}
	byOwner := indexer.OwnerUIDIndex[*corev1.Pod]()
	pods, err := informer.New(source, informer.Options[*corev1.Pod]{
		Name: "cluster-pods", Logger: opts.Log,
		Indexer: indexer.Options[*corev1.Pod]{Indexes: []indexer.IndexDefinition[*corev1.Pod]{byOwner}},
	})
	if err != nil {
		return nil, err
	}
	c := &Cluster{pods: pods}
	if c.node, err = newNode(cfg, pods, opts); err != nil {
		return nil, err
	}
	if c.collector, err = newCollector(cfg, pods, byOwner, opts); err != nil {
		return nil, err
	}
	return c, nil
}

// Run works until ctx ends.
func (c *Cluster) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	for name, part := range map[string]func(context.Context) error{
		"pods": c.pods.Run, "owners": c.collector.owners.Run, "node": c.node.run, "collector": c.collector.run,
	} {
		running.Go(func() {
			if err := part(ctx); err != nil && ctx.Err() == nil {
				cancel(fmt.Errorf("%s: %w", name, err))
			}
		})
	}
	running.Wait()
	return context.Cause(ctx)
}
