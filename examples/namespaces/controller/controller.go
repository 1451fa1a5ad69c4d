// Package controller has a cache of some namespaces, which are chosen at run time,
// and a cache of a kind that may not exist yet.
package controller

import (
	"context"
	"errors"
	"log/slog"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/inspect"
)

const (
	// Label selects the namespaces whose ConfigMaps are read.
	Label = "examples.informerkit.dev/watch=true"
	// OurConfigMaps leaves out the one that every namespace has.
	OurConfigMaps = "metadata.name!=kube-root-ca.crt"
)

// Widgets is the kind that may appear late, and go.
var Widgets = schema.GroupVersionResource{Group: "examples.informerkit.dev", Version: "v1", Resource: "widgets"}

// Say is called with what happens.
type Say func(who, format string, args ...any)

// Controller follows namespaces.
type Controller struct {
	factory    *informer.Factory
	namespaces informer.Shared[*metav1.PartialObjectMetadata]
}

// New returns a controller. It makes no request yet.
func New(cfg *rest.Config, log *slog.Logger, say Say) (*Controller, error) {
	// A factory that reads by namespace begins with none: one cache, fed by a source for each namespace.
	// It waits for a kind that the server does not have.
	factory, err := informer.NewFactory(cfg, informer.FactoryOptions{ByNamespace: true, Logger: log})
	if err != nil {
		return nil, err
	}
	namespaces, errNamespaces := informer.For(factory, informer.ForOptions[*metav1.PartialObjectMetadata]{
		Resource: corev1.SchemeGroupVersion.WithResource("namespaces"), LabelSelector: Label, Name: "namespaces", Whole: true,
	})
	configMaps, errConfigMaps := informer.For(factory, informer.ForOptions[*corev1.ConfigMap]{
		Resource: corev1.SchemeGroupVersion.WithResource("configmaps"), FieldSelector: OurConfigMaps, Name: "configmaps",
	})
	widgets, errWidgets := informer.For(factory, informer.ForOptions[*metav1.PartialObjectMetadata]{Resource: Widgets, Whole: true})
	if err := errors.Join(errNamespaces, errConfigMaps, errWidgets); err != nil {
		return nil, err
	}
	// The namespaces decide what is read.
	_, errNamespaces = namespaces.AddHandler(informer.HandlerFuncs[*metav1.PartialObjectMetadata]{
		AddFunc: func(ns *metav1.PartialObjectMetadata, _ bool) {
			say("controller", "reads namespace %s", ns.Name)
			if err := factory.AddNamespace(ns.Name); err != nil {
				log.Error("cannot read a namespace", "namespace", ns.Name, "error", err)
			}
		},
		// Also called when the label is removed: the selector no longer matches.
		DeleteFunc: func(ns *metav1.PartialObjectMetadata) {
			factory.RemoveNamespace(ns.Name)
			say("controller", "does not read namespace %s any more", ns.Name)
		},
	})
	_, errConfigMaps = configMaps.AddHandler(report[*corev1.ConfigMap](say, "configmaps"))
	_, errWidgets = widgets.AddHandler(report[*metav1.PartialObjectMetadata](say, "widgets"))
	return &Controller{factory, namespaces}, errors.Join(errNamespaces, errConfigMaps, errWidgets)
}

// report returns a handler that reports each event.
func report[T informer.Object](say Say, who string) informer.Handler[T] {
	return informer.HandlerFunc[T](func(e informer.Event[T]) { say(who, "%s %s", e.Type, e.Key) })
}

// Readiness is for the readiness probe: the namespaces are known. The widgets do
// not count: their kind need not exist.
func (c *Controller) Readiness() informer.Readiness { return c.namespaces }

// Source returns the controller's informers for a page of package inspect.
func (c *Controller) Source() inspect.Source { return inspect.Factory(c.factory) }

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) error {
	c.factory.Start(ctx)
	<-ctx.Done()
	return c.factory.Shutdown(context.WithoutCancel(ctx))
}
