package reflector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion/queryparams"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// Encoding says how objects travel.
type Encoding string

const (
	// EncodingAuto asks for protobuf where T can be decoded from it (the
	// generated built-in types and *metav1.PartialObjectMetadata), with JSON
	// as the second choice; for other types it asks for JSON.
	EncodingAuto Encoding = ""
	// EncodingJSON asks for JSON only.
	EncodingJSON Encoding = "json"
	// EncodingProtobuf asks for protobuf only. Servers refuse it for custom
	// resources with 406, unless T is *metav1.PartialObjectMetadata.
	EncodingProtobuf Encoding = "protobuf"
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
	// ShardSelector, if not empty, reads one part of the collection, of which
	// other replicas read the others:
	//
	//	shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')
	//
	// See [metav1.ListOptions]. The server needs the feature gate
	// ShardedListAndWatch. One that ignores the selector is an error of
	// [ClassNotSharded], not a full cache: each object that arrives is compared
	// with the selector, and a list of a built-in type T must say that it is the
	// shard. (Servers do not say so of custom resources and of watches.)
	ShardSelector string
	// Kind is the kind of the objects, for a T that does not say it. Generated
	// types such as *corev1.Pod do, by their name; a struct of your own does not.
	// A collection of another kind is then an error of [ClassWrongKind], instead
	// of objects with little in them. Without it, the kind is that of the newest
	// list. Objects of which the server sends the metadata only are not compared.
	Kind string
	// Encoding is how objects travel; the zero value chooses.
	Encoding Encoding
	// MaxObjectSize bounds the size in bytes of one object as it is received; a
	// list or watch with a larger one fails. 8 MiB.
	MaxObjectSize int
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
// The authentication, TLS, proxy, dial and transport settings of cfg apply;
// its Timeout, QPS, Burst and RateLimiter do not: a watch must not time out,
// and the Reflector paces itself. A redirect to another server, which would see
// the credentials, is not followed but reported.
//
// The error is about cfg or the options; no request is made.
func NewResource[T Object](cfg *rest.Config, gvr schema.GroupVersionResource, opts ResourceOptions) (ListerWatcher[T], error) {
	if cfg == nil {
		return nil, errors.New("reflector: NewResource needs a rest.Config; read one with clientcmd or rest.InClusterConfig")
	}
	if gvr.Resource == "" || gvr.Version == "" {
		return nil, fmt.Errorf("reflector: %q is not a complete resource: version and plural name are needed", gvr.String())
	}
	for _, segment := range []string{gvr.Group, gvr.Version, gvr.Resource, opts.Namespace} {
		if wrong := content.IsPathSegmentName(segment); len(wrong) > 0 {
			return nil, fmt.Errorf("reflector: %q can be no part of a URL: it %s", segment, wrong[0])
		}
	}
	if _, err := labels.Parse(opts.LabelSelector); err != nil {
		return nil, fmt.Errorf("reflector: label selector %q: %w", opts.LabelSelector, err)
	}
	if _, err := fields.ParseSelector(opts.FieldSelector); err != nil {
		return nil, fmt.Errorf("reflector: field selector %q: %w", opts.FieldSelector, err)
	}
	codec, err := newCodec[T](gvr.GroupVersion().String())
	if err != nil {
		return nil, err
	}
	if err := codec.configure(opts); err != nil {
		return nil, err
	}
	r := &resource[T]{codec: codec, gvr: gvr, opts: opts}
	if opts.ShardSelector != "" {
		if r.shard, err = parseShard(opts.ShardSelector); err != nil {
			return nil, fmt.Errorf("reflector: shard selector %q: %w", opts.ShardSelector, err)
		}
	}
	if r.listAccept, r.watchAccept, err = accept(codec, opts.Encoding); err != nil {
		return nil, err
	}
	if r.client, r.url, err = connectTo(cfg, gvr, opts.Namespace); err != nil {
		return nil, fmt.Errorf("reflector: %s: %w", gvr.GroupResource(), err)
	}
	return r, nil
}

// configure applies the options that concern the decoding.
func (c *codec[T]) configure(opts ResourceOptions) error {
	switch {
	case opts.MaxObjectSize < 0:
		return errors.New("reflector: ResourceOptions.MaxObjectSize is negative")
	case opts.Kind != "" && c.kind != "" && opts.Kind != c.kind:
		return fmt.Errorf("reflector: ResourceOptions.Kind is %q, but *%s is for objects of the kind %s", opts.Kind, c.elem, c.kind)
	}
	c.byOption = c.kind == "" && opts.Kind != ""
	c.kind = cmp.Or(c.kind, opts.Kind)
	c.limit = cmp.Or(opts.MaxObjectSize, c.limit)
	return nil
}

// connectTo returns the client and the URL of the collection.
func connectTo(cfg *rest.Config, gvr schema.GroupVersionResource, namespace string) (*http.Client, *url.URL, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.Timeout = 0
	if cfg.UserAgent == "" {
		cfg.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	gv := gvr.GroupVersion()
	cfg.GroupVersion = &gv
	cfg.APIPath = "/apis"
	if gv.Group == "" {
		cfg.APIPath = "/api"
	}
	base, prefix, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return nil, nil, err
	}
	shared, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, nil, err
	}
	client := *shared
	client.CheckRedirect = sameServer
	parts := []string{"/", base.Path, prefix}
	if namespace != "" {
		parts = append(parts, "namespaces", namespace)
	}
	u := *base
	u.Path = path.Join(append(parts, gvr.Resource)...)
	return &client, &u, nil
}

// sameServer follows no redirect to another server, which the transport would
// give the credentials to, nor a second one, so that a server which redirects to
// itself gets no more requests than the Reflector paces.
func sameServer(req *http.Request, via []*http.Request) error {
	if from := via[0].URL; req.URL.Scheme != from.Scheme || req.URL.Host != from.Host || len(via) > 1 || *req.URL == *from {
		return http.ErrUseLastResponse
	}
	return nil
}

const (
	mimeJSON  = "application/json"
	mimeProto = "application/vnd.kubernetes.protobuf"
)

// accept returns the Accept headers for lists and for watches.
func accept[T Object](c *codec[T], e Encoding) (list, watch string, err error) {
	var mimes []string
	switch {
	case e == EncodingJSON, e == EncodingAuto && !c.protobuf():
		mimes = []string{mimeJSON}
	case e == EncodingAuto:
		mimes = []string{mimeProto, mimeJSON}
	case e == EncodingProtobuf && c.protobuf():
		mimes = []string{mimeProto}
	case e == EncodingProtobuf:
		return "", "", fmt.Errorf("reflector: %s cannot be decoded from protobuf; leave Encoding unset", c.elem)
	default:
		return "", "", fmt.Errorf("reflector: unknown encoding %q", e)
	}
	as := func(kind string) (out string) {
		for _, m := range mimes {
			out += ", " + m
			if c.metadataOnly {
				out += ";as=" + kind + ";g=meta.k8s.io;v=v1"
			}
		}
		return out[2:]
	}
	return as("PartialObjectMetadataList"), as("PartialObjectMetadata"), nil
}

// resource reads one collection over HTTP.
type resource[T Object] struct {
	codec                   *codec[T]
	gvr                     schema.GroupVersionResource
	opts                    ResourceOptions
	shard                   *shard // nil for all of the collection
	client                  *http.Client
	url                     *url.URL
	listAccept, watchAccept string
}

// SupportsWatchList says that the server may know sendInitialEvents.
func (r *resource[T]) SupportsWatchList() bool { return true }

// String names the collection for logs.
func (r *resource[T]) String() string {
	if r.opts.Namespace == "" {
		return r.gvr.GroupResource().String()
	}
	return r.gvr.GroupResource().String() + " in namespace " + r.opts.Namespace
}

// Namespace is the namespace of the collection, or "" for all of them.
func (r *resource[T]) Namespace() string { return r.opts.Namespace }

// get sends one request and returns the answer if it is a good one.
func (r *resource[T]) get(ctx context.Context, verb string, opts metav1.ListOptions, accept string) (*http.Response, error) {
	query, err := r.query(opts)
	if err != nil {
		return nil, r.failed(verb, err)
	}
	u := *r.url
	u.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(charging(ctx), http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, r.failed(verb, err)
	}
	req.Header.Set("Accept", accept)
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, r.failed(verb, cutError(err))
	}
	if err := answerError(resp, r.gvr.GroupResource()); err != nil {
		_ = resp.Body.Close()
		return nil, r.failed(verb, err)
	}
	resp.Body = reporting(ctx, resp.Body)
	return resp, nil
}

func (r *resource[T]) failed(verb string, err error) error {
	return &RequestError{Verb: verb, Resource: r.gvr, Namespace: r.opts.Namespace, Server: r.url.Scheme + "://" + r.url.Host, Err: err}
}

// query encodes all options, those included that later versions of ListOptions
// may have, with the selectors of the source added.
func (r *resource[T]) query(o metav1.ListOptions) (url.Values, error) {
	if o.ShardSelector != "" && o.ShardSelector != r.opts.ShardSelector {
		return nil, fmt.Errorf("the request is for the shard %s, but the source is not; set ResourceOptions.ShardSelector", cut(o.ShardSelector))
	}
	o.LabelSelector = both(r.opts.LabelSelector, o.LabelSelector)
	o.FieldSelector = both(r.opts.FieldSelector, o.FieldSelector)
	o.ShardSelector = r.opts.ShardSelector
	q, err := queryparams.Convert(&o)
	if err != nil {
		return nil, err
	}
	// Convert leaves out false and 0 also where a pointer says that they are meant.
	for v, i := reflect.ValueOf(o), 0; i < v.NumField(); i++ {
		if f := v.Field(i); f.Kind() == reflect.Pointer && !f.IsNil() && f.Elem().IsZero() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			q.Set(name, fmt.Sprint(f.Elem()))
		}
	}
	return q, nil
}

// both joins two selectors: an object must match each.
func both(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "," + b
}
