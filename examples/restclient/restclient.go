// Package restclient reads and writes the objects of one resource, typed, past
// every cache.
//
// The library only reads; a controller writes too. The generated clientsets of
// client-go do that for the built-in kinds, with some tens of packages. Here are
// the same verbs with one type parameter, on top of client-go's rest package.
// They work for generated types (*corev1.Pod), for types of your own, and for
// *unstructured.Unstructured.
package restclient

import (
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"reflect"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/reflector"
)

// Object is what an API server stores: a pointer to a value with type
// information and object metadata.
type Object interface {
	runtime.Object
	metav1.Object
}

// KeyOf returns the namespace and name of an object. The namespace of a
// cluster-scoped object is empty.
func KeyOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// Client reads and writes the objects of one resource. It is safe for
// concurrent use; errors are those of k8s.io/apimachinery/pkg/api/errors where
// the server answered.
type Client[T Object] struct {
	rest     rest.Interface
	resource schema.GroupVersionResource
	typ      reflect.Type
	// timeout bounds a request; 0 if the configuration does.
	timeout time.Duration
}

// requestTimeout is for a server that accepts a request and never answers. No
// request here is a watch, so each has an end.
const requestTimeout = 30 * time.Second

// New returns a client of the resource gvr. The limits of cfg on requests per
// second apply; a request may take half a minute, if cfg has no Timeout. New makes
// no request.
func New[T Object](cfg *rest.Config, gvr schema.GroupVersionResource) (*Client[T], error) {
	typ := reflect.TypeFor[T]()
	if typ.Kind() != reflect.Pointer {
		return nil, fmt.Errorf("restclient: %s is not a pointer type such as *corev1.Pod", typ)
	}
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"}) // Status, to decode errors
	cfg = rest.CopyConfig(cfg)
	gv := gvr.GroupVersion()
	cfg.GroupVersion = &gv
	cfg.APIPath = "/apis"
	if gv.Group == "" {
		cfg.APIPath = "/api"
	}
	// As the end of a context. Config.Timeout would cost each request a copy of it, a
	// timer of its own and a parameter in the URL besides.
	timeout := requestTimeout
	if cfg.Timeout != 0 {
		timeout = 0
	}
	cfg.ContentType = runtime.ContentTypeJSON
	cfg.AcceptContentTypes = runtime.ContentTypeJSON
	cfg.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	// Of client-go's clients, a redirect to another server would get the credentials.
	http, err := reflector.HTTPClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("restclient: %w", err)
	}
	c, err := rest.RESTClientForConfigAndClient(cfg, http)
	if err != nil {
		return nil, fmt.Errorf("restclient: %s: %w", gvr.Resource, err)
	}
	return &Client[T]{rest: c, resource: gvr, typ: typ.Elem(), timeout: timeout}, nil
}

// Get reads an object.
func (c *Client[T]) Get(ctx context.Context, key types.NamespacedName) (T, error) {
	return c.into(ctx, c.at(c.rest.Get(), key))
}

// List reads the objects of a namespace that opts select; the empty namespace
// means all. With a Limit it reads page by page, and returns the whole all the
// same.
func (c *Client[T]) List(ctx context.Context, namespace string, opts metav1.ListOptions) ([]T, error) {
	var all []T
	for {
		var page struct {
			metav1.TypeMeta
			Metadata metav1.ListMeta   `json:"metadata"`
			Items    []json.RawMessage `json:"items"`
		}
		body, err := answer(c.do(ctx, c.in(c.rest.Get(), namespace).SpecificallyVersionedParams(&opts, parameters, metav1.SchemeGroupVersion)))
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(body, &page); err != nil {
			return nil, fmt.Errorf("list %s: %w", c.resource.Resource, err)
		}
		kind := page.GroupVersionKind()
		kind.Kind = strings.TrimSuffix(kind.Kind, "List")
		for _, item := range page.Items {
			obj, err := c.decodeItem(item, kind)
			if err != nil {
				return nil, fmt.Errorf("list %s: %w", c.resource.Resource, err)
			}
			all = append(all, obj)
		}
		if opts.Continue = page.Metadata.Continue; opts.Continue == "" {
			return all, nil
		}
	}
}

// decodeItem decodes an object of a list. There the server states the kind of
// built-in objects once, with the list.
func (c *Client[T]) decodeItem(body []byte, kind schema.GroupVersionKind) (T, error) {
	out := reflect.New(c.typ).Interface().(T)
	var into any = out
	if u, ok := into.(*unstructured.Unstructured); ok {
		into = &u.Object // not u: that would insist on a kind
	}
	if err := json.Unmarshal(body, into); err != nil {
		var none T
		return none, err
	}
	out.GetObjectKind().SetGroupVersionKind(kind)
	return out, nil
}

// Create writes a new object and returns it as stored.
func (c *Client[T]) Create(ctx context.Context, obj T) (T, error) {
	return c.send(ctx, c.in(c.rest.Post(), obj.GetNamespace()), obj)
}

// Update replaces the object, its status aside. If obj carries a resourceVersion
// that is not the stored one, the server refuses with a conflict.
func (c *Client[T]) Update(ctx context.Context, obj T) (T, error) {
	return c.send(ctx, c.at(c.rest.Put(), KeyOf(obj)), obj)
}

// UpdateStatus replaces the status of the object, and nothing else of it, under
// the same condition.
func (c *Client[T]) UpdateStatus(ctx context.Context, obj T) (T, error) {
	return c.send(ctx, c.at(c.rest.Put(), KeyOf(obj)).SubResource("status"), obj)
}

// Patch applies a patch of type pt.
func (c *Client[T]) Patch(ctx context.Context, key types.NamespacedName, pt types.PatchType, patch []byte) (T, error) {
	return c.into(ctx, c.at(c.rest.Patch(pt), key).Body(patch))
}

// Delete asks for the object to be deleted.
func (c *Client[T]) Delete(ctx context.Context, key types.NamespacedName, opts metav1.DeleteOptions) error {
	return c.do(ctx, c.at(c.rest.Delete(), key).Body(&opts)).Error()
}

// DeleteCollection asks for all objects of a namespace to be deleted that list
// selects.
func (c *Client[T]) DeleteCollection(ctx context.Context, namespace string, opts metav1.DeleteOptions, list metav1.ListOptions) error {
	r := c.in(c.rest.Delete(), namespace).SpecificallyVersionedParams(&list, parameters, metav1.SchemeGroupVersion)
	return c.do(ctx, r.Body(&opts)).Error()
}

// parameters turns ListOptions into a query.
var parameters = func() runtime.ParameterCodec {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, metav1.SchemeGroupVersion)
	return runtime.NewParameterCodec(scheme)
}()

func (c *Client[T]) in(r *rest.Request, namespace string) *rest.Request {
	return r.NamespaceIfScoped(namespace, namespace != "").Resource(c.resource.Resource)
}

func (c *Client[T]) at(r *rest.Request, key types.NamespacedName) *rest.Request {
	return c.in(r, key.Namespace).Name(key.Name) // an empty name is refused by rest
}

// do sends a request, and returns when its answer has been read.
func (c *Client[T]) do(ctx context.Context, r *rest.Request) rest.Result {
	if c.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.timeout)
		defer cancel()
	}
	return r.Do(ctx)
}

// send writes obj. Generated types do not say their kind, so it is filled in: the
// name of the Go type.
func (c *Client[T]) send(ctx context.Context, r *rest.Request, obj T) (T, error) {
	var none T
	if kind := obj.GetObjectKind(); kind.GroupVersionKind().Kind == "" {
		obj = c.copyToName(obj)
		obj.GetObjectKind().SetGroupVersionKind(c.resource.GroupVersion().WithKind(c.typ.Name()))
	}
	body, err := json.Marshal(obj)
	if err != nil {
		return none, fmt.Errorf("restclient: %w", err)
	}
	return c.into(ctx, r.SetHeader("Content-Type", runtime.ContentTypeJSON).Body(body))
}

// copyToName returns a copy of obj whose kind may be set; the rest of it is shared. An
// unstructured object has its kind in a map, so that one is copied as a whole.
func (c *Client[T]) copyToName(obj T) T {
	if c.typ == reflect.TypeFor[unstructured.Unstructured]() {
		return obj.DeepCopyObject().(T)
	}
	named := reflect.New(c.typ)
	named.Elem().Set(reflect.ValueOf(obj).Elem())
	return named.Interface().(T)
}

func (c *Client[T]) into(ctx context.Context, r *rest.Request) (T, error) {
	var none T
	body, err := answer(c.do(ctx, r))
	if err != nil {
		return none, err
	}
	out := reflect.New(c.typ).Interface().(T)
	if err := json.Unmarshal(body, out); err != nil {
		return none, fmt.Errorf("restclient: the answer is not a %s: %w", c.typ, err)
	}
	return out, nil
}

// answer returns the body of an answer. Error, unlike Raw, returns the Status that
// the server has sent.
func answer(r rest.Result) ([]byte, error) {
	if err := r.Error(); err != nil {
		return nil, err
	}
	var contentType string
	r.ContentType(&contentType)
	if format, _, _ := mime.ParseMediaType(contentType); format != runtime.ContentTypeJSON {
		return nil, fmt.Errorf("the answer is %q, not JSON: is this the address of an API server?", contentType)
	}
	return r.Raw()
}
