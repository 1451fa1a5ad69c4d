package controllerruntime

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/clientgo"
	"github.com/informerkit/informerkit/informer/intern"
	"github.com/informerkit/informerkit/reflector"
)

// newPart returns an informer that reads one collection, or one namespace of it.
func (c *Cache) newPart(k *kind, resource schema.GroupVersionResource, namespace string, config cache.Config) (*part, error) {
	ropts := reflector.ResourceOptions{
		LabelSelector: labelString(config.LabelSelector),
		FieldSelector: fieldString(config.FieldSelector),
		Encoding:      c.encoding,
		Type:          k.typ,
		MaxObjectSize: c.own.MaxObjectSize,
		MaxObjects:    c.own.MaxObjects,
		MaxBytes:      c.own.MaxBytes,
	}
	if k.namespaced {
		ropts.Namespace = cmp.Or(namespace, onlyNamespace(config.FieldSelector))
	}
	// So that an object of another kind is reported as one. Metadata has a kind of its
	// own.
	if k.key.form != metadataOnly {
		ropts.Kind = k.key.Kind
	}
	lw, err := reflector.NewResource[client.Object](c.connection, resource, ropts)
	if err != nil {
		return nil, err
	}
	if k.key.form == metadataOnly {
		// Servers send metadata as a kind of its own. Handlers and readers ask for that
		// of the objects.
		lw = reflector.Transform(lw, func(obj client.Object) (client.Object, error) {
			obj.GetObjectKind().SetGroupVersionKind(k.key.GroupVersionKind)
			return obj, nil
		})
	}
	options := c.own.Reflector
	if !ptr.Deref(config.EnableWatchBookmarks, true) {
		// A list that is streamed ends with a bookmark.
		options.Sync = reflector.SyncList
		lw = withoutBookmarks{lw}
	}
	name := partName(k, resource, namespace)
	if c.opts.DefaultWatchErrorHandler != nil {
		options.Policy = reportTo(c.opts.DefaultWatchErrorHandler, k, name, options.Policy)
	}
	resync := resyncPeriod(config.SyncPeriod, rand.Float64())
	inf, err := informer.New(lw, informer.Options[client.Object]{
		Name:      name,
		Resource:  resource.GroupResource(),
		Logger:    c.own.Logger,
		Transform: intern.Transform(c.own.InternPool, transform(config.Transform)),
		Reflector: options,
		Metrics:   c.own.Metrics,
	})
	if err != nil {
		return nil, err
	}
	return &part{
		namespace: namespace, informer: inf, noCopy: ptr.Deref(config.UnsafeDisableDeepCopy, false),
		shared: clientgo.FromInformer[client.Object](inf, resync),
	}, nil
}

// partName is unique within a cache: "deployments.apps/v1/metadata/prod".
func partName(k *kind, resource schema.GroupVersionResource, namespace string) string {
	words := []string{resource.GroupResource().String(), resource.Version}
	switch k.key.form {
	case unstructuredForm:
		words = append(words, "unstructured")
	case metadataOnly:
		words = append(words, "metadata")
	case typed:
	}
	if namespace != "" {
		words = append(words, namespace)
	}
	return strings.Join(words, "/")
}

// transform returns fn as a function of objects.
func transform(fn toolscache.TransformFunc) func(client.Object) (client.Object, error) {
	if fn == nil {
		return nil
	}
	return func(obj client.Object) (client.Object, error) {
		changed, err := fn(obj)
		if err != nil {
			return obj, err
		}
		out, ok := changed.(client.Object)
		if !ok {
			return obj, fmt.Errorf("the transform returned a %T, which is not a client.Object", changed)
		}
		return out, nil
	}
}

// withoutBookmarks is a source for whose watches no bookmarks are asked.
type withoutBookmarks struct {
	reflector.ListerWatcher[client.Object]
}

// Watch implements [reflector.ListerWatcher].
func (w withoutBookmarks) Watch(ctx context.Context, req reflector.Request) (reflector.Stream[client.Object], error) {
	req.ListOptions.AllowWatchBookmarks = false
	return w.ListerWatcher.Watch(ctx, req)
}

// reportTo returns a policy that calls handler with each failure and decides as next
// does. The handler gets a Reflector of client-go that has the name and the type, and
// does not run.
func reportTo(handler toolscache.WatchErrorHandlerWithContext, k *kind, name string, next func(reflector.Failure) reflector.Decision) func(reflector.Failure) reflector.Decision {
	described := toolscache.NewReflectorWithOptions(nil, nil, nil, toolscache.ReflectorOptions{
		Name: name, TypeDescription: k.key.GroupVersionKind.String(),
	})
	return func(f reflector.Failure) reflector.Decision {
		handler(k.ctx, described, f.Err)
		if next == nil {
			return reflector.Retry()
		}
		return next(f)
	}
}
