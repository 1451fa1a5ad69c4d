// Package restclient writes objects of one resource to an API server.
//
// The library only ever reads; a controller writes too. The generated
// clientsets do that for the built-in kinds, with some tens of packages. The
// examples and tests of this module need six verbs and one type parameter, on
// top of client-go's rest package.
package restclient

import (
	"context"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/internal/object"
)

// Client reads and writes the objects of one resource. It is safe for
// concurrent use; errors are those of k8s.io/apimachinery/pkg/api/errors where
// the server answered.
type Client[T object.Object] struct {
	rest     rest.Interface
	resource string
	typ      reflect.Type
}

// New returns a client of the resource gvr, whose Go type T must be registered
// in scheme. The limits of cfg on requests per second apply.
func New[T object.Object](cfg *rest.Config, gvr schema.GroupVersionResource, scheme *runtime.Scheme) (*Client[T], error) {
	typ := reflect.TypeFor[T]()
	if typ.Kind() != reflect.Pointer {
		return nil, fmt.Errorf("restclient: %s is not a pointer type such as *corev1.Pod", typ)
	}
	cfg = rest.CopyConfig(cfg)
	gv := gvr.GroupVersion()
	cfg.GroupVersion = &gv
	cfg.APIPath = "/apis"
	if gv.Group == "" {
		cfg.APIPath = "/api"
	}
	cfg.ContentConfig.ContentType = runtime.ContentTypeJSON
	cfg.AcceptContentTypes = runtime.ContentTypeJSON
	cfg.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	c, err := rest.RESTClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("restclient: %s: %w", gvr.Resource, err)
	}
	return &Client[T]{rest: c, resource: gvr.Resource, typ: typ.Elem()}, nil
}

// Get reads the object from the API server, past every cache.
func (c *Client[T]) Get(ctx context.Context, key types.NamespacedName) (T, error) {
	return c.into(ctx, c.at(c.rest.Get(), key))
}

// Create writes a new object and returns it as stored.
func (c *Client[T]) Create(ctx context.Context, obj T) (T, error) {
	return c.into(ctx, c.rest.Post().NamespaceIfScoped(obj.GetNamespace(), obj.GetNamespace() != "").Resource(c.resource).Body(obj))
}

// Update replaces the object, its status aside, if the resourceVersion that obj
// carries is still the stored one.
func (c *Client[T]) Update(ctx context.Context, obj T) (T, error) {
	return c.into(ctx, c.at(c.rest.Put(), object.KeyOf(obj)).Body(obj))
}

// UpdateStatus replaces the status of the object, under the same condition.
func (c *Client[T]) UpdateStatus(ctx context.Context, obj T) (T, error) {
	return c.into(ctx, c.at(c.rest.Put(), object.KeyOf(obj)).SubResource("status").Body(obj))
}

// Patch applies a patch of type pt.
func (c *Client[T]) Patch(ctx context.Context, key types.NamespacedName, pt types.PatchType, patch []byte) (T, error) {
	return c.into(ctx, c.at(c.rest.Patch(pt), key).Body(patch))
}

// Delete asks for the object to be deleted.
func (c *Client[T]) Delete(ctx context.Context, key types.NamespacedName, opts metav1.DeleteOptions) error {
	return c.at(c.rest.Delete(), key).Body(&opts).Do(ctx).Error()
}

func (c *Client[T]) at(r *rest.Request, key types.NamespacedName) *rest.Request {
	return r.NamespaceIfScoped(key.Namespace, key.Namespace != "").Resource(c.resource).Name(key.Name)
}

func (c *Client[T]) into(ctx context.Context, r *rest.Request) (T, error) {
	out := reflect.New(c.typ).Interface().(T)
	if err := r.Do(ctx).Into(out); err != nil {
		var none T
		return none, err
	}
	return out, nil
}
