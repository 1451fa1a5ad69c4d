package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/internal/httpclient"
	"github.com/informerkit/informerkit/internal/object"
	"github.com/informerkit/informerkit/reflector/internal/wire"
)

// Encoding is the format in which objects are transferred. The zero value asks for
// protobuf where T can be decoded from it (the generated built-in types and
// *metav1.PartialObjectMetadata), with JSON as the second choice; for other types it asks
// for JSON.
type Encoding string

const (
	// EncodingJSON asks for JSON only.
	EncodingJSON = Encoding(wire.EncodingJSON)
	// EncodingProtobuf asks for protobuf only. Servers refuse it for custom
	// resources with 406, unless T is *metav1.PartialObjectMetadata.
	EncodingProtobuf = Encoding(wire.EncodingProtobuf)
)

// ResourceOptions narrow down what [NewResource] reads. The zero value reads
// all objects of the resource, in all namespaces.
type ResourceOptions struct {
	// Namespace, if not empty, is the only one that is read.
	Namespace string
	// LabelSelector and FieldSelector are in the form of kubectl's -l and
	// --field-selector; empty selects everything.
	LabelSelector string
	FieldSelector string
	// Kind is the kind of the objects, for a T that does not say it. Generated
	// types such as *corev1.Pod do, by their name; a struct of your own does not.
	// A collection of another kind is then an error of class "wrong kind", instead
	// of objects with little in them. Without it, the kind is that of the newest
	// list. Objects of which the server sends the metadata only are not compared.
	Kind string
	// Encoding is the format in which objects are transferred; the zero value chooses.
	Encoding Encoding
	// MaxObjectSize bounds the size in bytes of one object as it is received. A larger one
	// is quarantined, and the others are served, unless it is JSON with a single text of more than
	// 32 MiB, which fails the request. The default is 8 MiB.
	MaxObjectSize int
	// MaxObjects and MaxBytes bound the whole collection as it is received; one with more
	// is an error, so that a broken server cannot fill the memory. The defaults are two
	// million objects and 4 GiB.
	MaxObjects int
	MaxBytes   int64
	// Type is the type of the objects if T is an interface, such as [Object], as in a
	// program that learns only at run time which types there are: a pointer, which
	// implements T. For any other T it is unset.
	Type reflect.Type
}

// Selector describes the selectors for people: "labels app=web, fields
// spec.nodeName=node-1". It is empty if everything is selected.
func (o *ResourceOptions) Selector() string {
	var parts []string
	for _, p := range []struct{ name, selector string }{
		{"labels ", o.LabelSelector}, {"fields ", o.FieldSelector},
	} {
		if p.selector != "" {
			parts = append(parts, p.name+p.selector)
		}
	}
	return strings.Join(parts, ", ")
}

// NewResource returns a source that reads the resource gvr of the API server
// that cfg describes.
//
// T may be a pointer to a generated type such as *corev1.Pod, to a struct of
// your own that holds the fields you care for (with metav1.TypeMeta and
// metav1.ObjectMeta embedded as usual, and a DeepCopyObject method), an
// *unstructured.Unstructured, or a *metav1.PartialObjectMetadata, for which the
// server sends metadata only. No scheme is needed and nothing is converted: the
// bytes are decoded into T. Unlike client-go's typed clients, apiVersion and
// kind are always set.
//
// The authentication, TLS, proxy, dial and transport settings of cfg apply, and so does
// its WarningHandler, if there is one;
// its Timeout, QPS, Burst and RateLimiter do not: a watch must not time out,
// and the Reflector paces itself. A redirect to another server, which would see
// the credentials, is not followed but reported.
//
// The error is about cfg or the options; no request is made.
func NewResource[T Object](cfg *rest.Config, gvr schema.GroupVersionResource, opts ResourceOptions) (ListerWatcher[T], error) {
	r, err := wire.New[T](cfg, gvr, wire.Options{
		Namespace:     opts.Namespace,
		LabelSelector: opts.LabelSelector,
		FieldSelector: opts.FieldSelector,
		Kind:          opts.Kind,
		Encoding:      wire.Encoding(opts.Encoding),
		MaxObjectSize: opts.MaxObjectSize,
		MaxObjects:    opts.MaxObjects,
		MaxBytes:      opts.MaxBytes,
		Type:          opts.Type,
	})
	if err != nil {
		return nil, err
	}
	return &resource[T]{r, opts}, nil
}

// HTTPClientFor returns an HTTP client for the API server that cfg describes, as the sources of
// [NewResource] use it. In contrast to that of [rest.HTTPClientFor] it follows no redirect to
// another server, which would get the credentials. Pass it to the constructors of clientsets, such as
// kubernetes.NewForConfigAndClient. It may be used by any number of goroutines.
func HTTPClientFor(cfg *rest.Config) (*http.Client, error) { return httpclient.For(cfg) }

// resource is the source over HTTP. It gives the errors of the wire the form in
// which the state machine classifies and users read them. Its String and Namespace
// are those of the wire's Resource.
type resource[T Object] struct {
	*wire.Resource[T]
	opts ResourceOptions
}

// Selector is [ResourceOptions.Selector], for the health of an informer.
func (r *resource[T]) Selector() string { return r.opts.Selector() }

// SupportsWatchList says that the server may know sendInitialEvents.
func (r *resource[T]) SupportsWatchList() bool { return true }

// Metadata returns a source of the metadata of the same collection.
func (r *resource[T]) Metadata() (ListerWatcher[*metav1.PartialObjectMetadata], error) {
	metadata, err := r.Resource.Metadata()
	if err != nil {
		return nil, err
	}
	return &resource[*metav1.PartialObjectMetadata]{metadata, r.opts}, nil
}

// List implements [ListerWatcher].
func (r *resource[T]) List(ctx context.Context, req Request, each func(WatchEvent[T]) error) (metav1.ListMeta, error) {
	var refused error // by each; it is returned as it is
	check := selected[T](req.ListOptions, r.opts)
	meta, err := r.Resource.List(ctx, req.onWire(), func(ev wire.Event[T]) error {
		refused = each(check(fromWire(ev)))
		return refused
	})
	if err == nil || refused != nil {
		return meta, err
	}
	return meta, r.failed("list", err)
}

// Watch implements [ListerWatcher].
func (r *resource[T]) Watch(ctx context.Context, req Request) (Stream[T], error) {
	s, err := r.Resource.Watch(ctx, req.onWire())
	if err != nil {
		return nil, r.failed("watch", err)
	}
	return &resourceStream[T]{s, r, selected[T](req.ListOptions, r.opts)}, nil
}

// onWire is the request in the form of the wire.
func (r Request) onWire() wire.Request {
	return wire.Request{ListOptions: r.ListOptions, Known: r.Known, Arrived: r.Arrived}
}

// failed says which request has failed.
func (r *resource[T]) failed(verb string, err error) *requestError {
	return &requestError{verb: verb, resource: r.GroupVersionResource(), namespace: r.Namespace(), server: r.Server(), err: err}
}

// resourceStream is a watch of a resource.
type resourceStream[T Object] struct {
	*wire.Stream[T]
	r     *resource[T]
	check func(WatchEvent[T]) WatchEvent[T]
}

// Next implements [Stream].
func (s *resourceStream[T]) Next() (WatchEvent[T], error) {
	ev, err := s.Stream.Next()
	switch {
	case err == nil:
		return s.check(fromWire(ev)), nil
	case err == io.EOF: //nolint:errorlint // the bare value means an orderly end
		return WatchEvent[T]{}, err
	}
	failed := s.r.failed("watch", err)
	failed.begun = true
	return WatchEvent[T]{}, failed
}

// fromWire returns an event of the wire with the errors of this package.
func fromWire[T Object](ev wire.Event[T]) WatchEvent[T] {
	var oe *wire.ObjectError
	if ev.Err != nil && errors.As(ev.Err, &oe) {
		ev.Err = &ObjectError{
			Key: oe.Key, UID: oe.UID, ResourceVersion: oe.ResourceVersion, Position: oe.Position, Class: ClassDecode, Err: oe.Err,
		}
	}
	return WatchEvent[T](ev)
}

// A source covers a namespace, or what its selectors select. An object from outside, which
// only a broken server or proxy sends, would stay in the sink for ever: no list of this
// source contains it, and no later event need be about it. So it is reported like an object
// that cannot be decoded, and what the sink has of it is deleted unless it is in another
// namespace, which may be another source's.

// errOutside is the cause of the [ObjectError] of an object from outside.
var errOutside = errors.New("the object is outside of what was asked for")

// outside returns ev with an error in place of its object.
func outside[T Object](ev WatchEvent[T], format string, args ...any) WatchEvent[T] {
	var none T
	obj := ev.Object
	ev.Object, ev.Err = none, &ObjectError{
		Key: object.KeyOf(obj), UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion(), Class: classOutside,
		Err: fmt.Errorf("%w: %s", errOutside, fmt.Sprintf(format, args...)),
	}
	return ev
}

// inNamespace returns ev, or an error in its place if its object is in another namespace
// than that of the source, or has no metadata, as one of a user's source may.
func inNamespace[T Object](ev WatchEvent[T], namespace string) WatchEvent[T] {
	if ev.Err != nil || ev.Known != nil || object.IsNil(ev.Object) {
		return ev
	}
	if err := object.Check(ev.Object); err != nil {
		var none T
		ev.Object, ev.Err = none, &ObjectError{ResourceVersion: ev.ResourceVersion, Class: ClassDecode, Err: err}
		return ev
	}
	if namespace == "" || ev.Object.GetNamespace() == namespace {
		return ev
	}
	return outside(ev, "it is in namespace %q, not in %q", ev.Object.GetNamespace(), namespace)
}

// selected returns a function that returns an event, or an error in its place if its object
// is not selected by what a client can compare: labels, name and namespace. A deletion may
// be that of an object which is not selected any more.
func selected[T Object](o metav1.ListOptions, own ResourceOptions) func(WatchEvent[T]) WatchEvent[T] {
	var byLabels []labels.Selector
	for _, s := range []string{own.LabelSelector, o.LabelSelector} {
		if sel, err := labels.Parse(s); err == nil && !sel.Empty() { // else it is the server's business
			byLabels = append(byLabels, sel)
		}
	}
	var byFields []fields.Requirement
	for _, s := range []string{own.FieldSelector, o.FieldSelector} {
		if sel, err := fields.ParseSelector(s); err == nil {
			byFields = append(byFields, sel.Requirements()...)
		}
	}
	return func(ev WatchEvent[T]) (out WatchEvent[T]) {
		defer func() {
			if p := recover(); p != nil {
				out = outside(ev, "its labels cannot be read: %T panicked: %v", ev.Object, p)
			}
		}()
		if ev.Err != nil || ev.Known != nil || ev.Type == watch.Deleted || object.IsNil(ev.Object) {
			return ev
		}
		for _, sel := range byLabels {
			if set := labels.Set(ev.Object.GetLabels()); !sel.Matches(set) {
				return outside(ev, "its labels are not %s", sel)
			}
		}
		for _, req := range byFields {
			value, known := map[string]string{"metadata.name": ev.Object.GetName(), "metadata.namespace": ev.Object.GetNamespace()}[req.Field]
			if known && (value == req.Value) == (req.Operator == selection.NotEquals) {
				return outside(ev, "its %s is %q, not %s%s", req.Field, value, req.Operator, req.Value)
			}
		}
		return ev
	}
}
