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
	"github.com/informerkit/informerkit/reflector"
)

const (
	// Label selects the namespaces whose ConfigMaps are read.
	Label = "examples.informerkit.dev/watch=true"
	// OurConfigMaps leaves out the one that every namespace has.
	OurConfigMaps = "metadata.name!=kube-root-ca.crt"
)

// Widgets is the kind that may appear late, and go.
var Widgets = schema.GroupVersionResource{Group: "examples.informerkit.dev", Version: "v1", Resource: "widgets"}

// Options configures New.
type Options struct {
	// Say, if set, is called with what happens.
	Say func(who, format string, args ...any)
	Log *slog.Logger
}

// Controller follows namespaces.
type Controller struct {
	cfg        *rest.Config
	namespaces informer.Shared[*metav1.PartialObjectMetadata]
	configMaps *informer.Informer[*corev1.ConfigMap]
	factory    *informer.Factory
	widgets    informer.Shared[*metav1.PartialObjectMetadata]
	say        func(who, format string, args ...any)
	log        *slog.Logger
}

// New returns a controller. It makes no request yet.
func New(cfg *rest.Config, opts Options) (*Controller, error) {
	if opts.Log == nil {
		opts.Log = slog.Default()
	}
	if opts.Say == nil {
		opts.Say = func(string, string, ...any) {}
	}
	c := &Controller{cfg: cfg, say: opts.Say, log: opts.Log}
	// A factory waits for a kind that the server does not have.
	var err error
	if c.factory, err = informer.NewFactory(cfg, informer.FactoryOptions{Logger: opts.Log}); err != nil {
		return nil, err
	}
	c.namespaces, err = informer.For(c.factory, informer.ForOptions[*metav1.PartialObjectMetadata]{
		Resource: corev1.SchemeGroupVersion.WithResource("namespaces"), LabelSelector: Label, Name: "namespaces",
	})
	if err != nil {
		return nil, err
	}
	if c.widgets, err = informer.For(c.factory, informer.ForOptions[*metav1.PartialObjectMetadata]{Resource: Widgets}); err != nil {
		return nil, err
	}
	// One cache, fed by a source for each namespace. It begins with none.
	if c.configMaps, err = informer.NewNamespaced(nil, informer.Options[*corev1.ConfigMap]{Name: "configmaps", Logger: opts.Log}); err != nil {
		return nil, err
	}
	return c, c.addHandlers()
}

// addHandlers lets the namespaces decide what is read.
func (c *Controller) addHandlers() error {
	_, errNamespaces := c.namespaces.AddHandler(informer.HandlerFuncs[*metav1.PartialObjectMetadata]{
		AddFunc: func(ns *metav1.PartialObjectMetadata, _ bool) {
			if err := c.add(ns.Name); err != nil {
				c.log.Error("cannot read a namespace", "namespace", ns.Name, "error", err)
			}
		},
		// Also called when the label is removed: the selector no longer matches.
		DeleteFunc: func(ns *metav1.PartialObjectMetadata) {
			c.configMaps.RemoveNamespace(ns.Name)
			c.say("controller", "does not read namespace %s any more", ns.Name)
		},
	}, informer.HandlerOptions{})
	_, errConfigMaps := c.configMaps.AddHandler(report[*corev1.ConfigMap](c, "configmap"), informer.HandlerOptions{})
	_, errWidgets := c.widgets.AddHandler(report[*metav1.PartialObjectMetadata](c, "widget"), informer.HandlerOptions{})
	return errors.Join(errNamespaces, errConfigMaps, errWidgets)
}

func (c *Controller) add(namespace string) error {
	source, err := reflector.NewResource[*corev1.ConfigMap](c.cfg, corev1.SchemeGroupVersion.WithResource("configmaps"),
		reflector.ResourceOptions{Namespace: namespace, FieldSelector: OurConfigMaps})
	if err != nil {
		return err
	}
	c.say("controller", "reads namespace %s", namespace)
	return c.configMaps.AddNamespace(namespace, source)
}

// report returns a handler that reports each event.
func report[T informer.Object](c *Controller, kind string) informer.Handler[T] {
	return informer.HandlerFunc[T](func(e informer.Event[T]) {
		c.say(kind+"s", "%s %s", e.Type, e.Key)
	})
}

// Readiness is for the readiness probe: the namespaces are known. The widgets do
// not count: their kind need not exist.
func (c *Controller) Readiness() informer.Readiness { return c.namespaces }

// Parts returns the controller's sources for a page of package inspect.
func (c *Controller) Parts() []inspect.Source {
	return []inspect.Source{inspect.Informer(c.namespaces), inspect.Informer(c.configMaps), inspect.Informer(c.widgets)}
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) error {
	c.factory.Start(ctx)
	return errors.Join(c.configMaps.Run(ctx), c.factory.Shutdown(context.WithoutCancel(ctx)))
}
