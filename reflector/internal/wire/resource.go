package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/internal/httpclient"
	"github.com/informerkit/informerkit/internal/object"
)

// Object is what a collection consists of.
type Object = object.Object

// Encoding says how objects travel.
//
// Protobuf is smaller and faster to decode, but needs a generated decoder. Whole objects
// of custom resources, and Unstructured, are always JSON.
type Encoding string

// The encodings.
const (
	EncodingAuto     Encoding = "" // protobuf where T can be decoded from it
	EncodingJSON     Encoding = "json"
	EncodingProtobuf Encoding = "protobuf"
)

// Options are those of reflector.NewResource, which documents them. The fields have no
// docs here, so that there is one place to read and to keep right.
type Options struct {
	Namespace                    string
	LabelSelector, FieldSelector string
	Kind                         string
	Encoding                     Encoding
	MaxObjectSize                int
	MaxObjects                   int
	MaxBytes                     int64
	Type                         reflect.Type
}

// New returns a reader of the resource gvr. The error is about the arguments; no
// request is made.
func New[T Object](cfg *rest.Config, gvr schema.GroupVersionResource, opts Options) (*Resource[T], error) {
	if cfg == nil {
		return nil, errors.New("reflector: NewResource needs a rest.Config; read one with clientcmd or rest.InClusterConfig")
	}
	if gvr.Resource == "" || gvr.Version == "" {
		return nil, fmt.Errorf("reflector: %q is not a complete resource: version and plural name are needed", gvr.String())
	}
	// A segment such as ".." would lead to another path, with the same credentials.
	for _, segment := range []string{gvr.Group, gvr.Version, gvr.Resource, opts.Namespace} {
		if wrong := content.IsPathSegmentName(segment); len(wrong) > 0 {
			return nil, fmt.Errorf("reflector: %q can be no part of a URL: it %s", segment, wrong[0])
		}
	}
	// Refused here rather than by the server: that error would come only at run time.
	if _, err := labels.Parse(opts.LabelSelector); err != nil {
		return nil, fmt.Errorf("reflector: label selector %q: %w", opts.LabelSelector, err)
	}
	if _, err := fields.ParseSelector(opts.FieldSelector); err != nil {
		return nil, fmt.Errorf("reflector: field selector %q: %w", opts.FieldSelector, err)
	}
	r := &Resource[T]{gvr: gvr, opts: opts, warned: warningHandler(cfg)}
	if err := r.init(); err != nil {
		return nil, err
	}
	var err error
	if r.client, r.url, err = connectTo(cfg, gvr, opts.Namespace); err != nil {
		return nil, fmt.Errorf("reflector: %s: %w", gvr.GroupResource(), err)
	}
	return r, nil
}

// init sets what depends on T and the options.
func (r *Resource[T]) init() (err error) {
	if r.codec, err = newCodec[T](r.gvr.GroupVersion().String(), r.opts); err != nil {
		return err
	}
	r.limits = newLimits(r.opts)
	r.listAccept, r.watchAccept, err = accept(r.codec, r.opts.Encoding)
	return err
}

// connectTo returns the client and the URL of the collection:
//
//	https://host/prefix /api /v1               /namespaces/prod /pods
//	https://host/prefix /apis/apps/v1          /namespaces/prod /deployments
//	https://host/prefix /apis/example.com/v1                    /widgets
//
// The client has no timeout of its own, as a watch lasts for minutes: the reflector
// has deadlines for progress instead. It shares the connections of other clients of
// the same config.
func connectTo(cfg *rest.Config, gvr schema.GroupVersionResource, namespace string) (*http.Client, *url.URL, error) {
	// The caller's config must not change.
	cfg = rest.CopyConfig(cfg)
	// A client's timeout covers the whole body, and would end every watch.
	cfg.Timeout = 0
	if cfg.UserAgent == "" {
		cfg.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	gv := gvr.GroupVersion()
	cfg.GroupVersion = &gv
	cfg.APIPath = "/apis"
	// The core group has a path of its own, /api/v1; all others are below /apis.
	if gv.Group == "" {
		cfg.APIPath = "/api"
	}
	base, prefix, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return nil, nil, err
	}
	client, err := httpclient.ForReflector(cfg)
	if err != nil {
		return nil, nil, err
	}
	parts := []string{"/", base.Path, prefix}
	if namespace != "" {
		// The namespace precedes the resource. Without one the path is that of all
		// namespaces, or of a cluster-scoped resource.
		parts = append(parts, "namespaces", namespace)
	}
	u := *base
	u.Path = path.Join(append(parts, gvr.Resource)...)
	return client, &u, nil
}

const (
	// The media types of API servers. Others, such as CBOR, are behind a feature gate,
	// and a server that has them has these two as well.
	mimeJSON  = "application/json"
	mimeProto = "application/vnd.kubernetes.protobuf"
)

// accept returns the Accept headers for lists and for watches. JSON stays acceptable
// beside protobuf, since custom resources and many aggregated servers have nothing
// else. Metadata alone is a matter of the header, too (";as=PartialObjectMetadata",
// API concepts, "Metadata-only fetches").
func accept[T Object](c *codec[T], e Encoding) (list, watch string, err error) {
	var mimes []string
	switch {
	case e == EncodingJSON, e == EncodingAuto && !c.protobuf:
		mimes = []string{mimeJSON}
	case e == EncodingAuto:
		mimes = []string{mimeProto, mimeJSON}
	case e == EncodingProtobuf && c.protobuf:
		mimes = []string{mimeProto}
	case e == EncodingProtobuf:
		return "", "", fmt.Errorf("reflector: %s cannot be decoded from protobuf; leave Encoding unset", c.elem)
	default:
		return "", "", fmt.Errorf("reflector: unknown encoding %q", e)
	}
	// Lists and single objects (of watch events) have different kinds, so the header of
	// a list cannot be used for a watch.
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

// Resource reads one collection over HTTP.
//
// It does not change after New, but for what the codec learns of the kind (codec.newest,
// which is atomic), and may be used by several goroutines.
type Resource[T Object] struct {
	codec                   *codec[T]
	gvr                     schema.GroupVersionResource
	opts                    Options
	limits                  *limits
	client                  *http.Client
	url                     *url.URL
	warned                  rest.WarningHandlerWithContext // or nil
	listAccept, watchAccept string
}

// Metadata returns a reader of the metadata of the same collection, over the same
// connections. The server then sends metadata only, whatever T is, which is how an
// audit compares a cache at a fraction of the bytes.
func (r *Resource[T]) Metadata() (*Resource[*metav1.PartialObjectMetadata], error) {
	out := &Resource[*metav1.PartialObjectMetadata]{gvr: r.gvr, opts: r.opts, client: r.client, url: r.url, warned: r.warned}
	out.opts.Kind, out.opts.Type = "", nil
	return out, out.init()
}

// String names the collection for logs.
func (r *Resource[T]) String() string {
	if r.opts.Namespace == "" {
		return r.gvr.GroupResource().String()
	}
	return r.gvr.GroupResource().String() + " in namespace " + r.opts.Namespace
}

// Server is the scheme and address of the server.
func (r *Resource[T]) Server() string { return r.url.Scheme + "://" + r.url.Host }

// GroupVersionResource is the resource.
func (r *Resource[T]) GroupVersionResource() schema.GroupVersionResource { return r.gvr }

// Namespace is the namespace of the collection, or "" for all of them.
func (r *Resource[T]) Namespace() string { return r.opts.Namespace }

// get sends one request and returns the answer if its status is 200 and its content is
// JSON or protobuf. The caller closes the body; ctx must live as long. It does not
// retry: the reflector paces all requests, and must see each failure.
func (r *Resource[T]) get(ctx context.Context, req Request, accept string) (*http.Response, error) {
	query, err := r.query(req.ListOptions)
	if err != nil {
		return nil, err
	}
	// A copy for each request: r.url is shared by all of them.
	u := *r.url
	u.RawQuery = query.Encode()
	// The server finds a name within a namespace without looking at all others.
	if sel, err := fields.ParseSelector(req.FieldSelector); err == nil && r.opts.Namespace == "" {
		if namespace, found := sel.RequiresExactMatch("metadata.namespace"); found && len(content.IsPathSegmentName(namespace)) == 0 && namespace != "" {
			u.Path = path.Join(path.Dir(u.Path), "namespaces", namespace, path.Base(u.Path))
		}
	}
	get, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	// The order is the preference.
	get.Header.Set("Accept", accept)
	resp, err := r.client.Do(get)
	if err != nil {
		return nil, CutError(err)
	}
	r.warn(ctx, resp)
	err = answerError(resp, r.gvr.GroupResource())
	if err == nil && isProto(resp) && !r.codec.protobuf {
		err = &NotAPIError{code: resp.StatusCode, mediaType: mimeProto}
	}
	// After an error the body is closed here, as the caller gets no response to close.
	if err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	if req.Arrived != nil { // last, so that the progress of error bodies is not reported
		resp.Body = &reportingBody{resp.Body, req.Arrived}
	}
	return resp, nil
}

// discovered asks discovery for the kind of the resource; it is "" if there is no answer.
func (r *Resource[T]) discovered(ctx context.Context) string {
	if r.codec.kind != "" { // which is not that of the list
		return ""
	}
	u := *r.url
	u.Path = path.Dir(u.Path)
	if r.opts.Namespace != "" {
		u.Path = path.Dir(path.Dir(u.Path))
	}
	get, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return ""
	}
	get.Header.Set("Accept", mimeJSON)
	resp, err := r.client.Do(get)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	var list metav1.APIResourceList
	if json.NewDecoder(io.LimitReader(resp.Body, defaultMaxObject)).Decode(&list) != nil {
		return ""
	}
	for _, found := range list.APIResources {
		if found.Name == r.gvr.Resource {
			return found.Kind
		}
	}
	return ""
}

// warningHandler is what the config says about warnings in answers. Without a handler there are
// none: a log line per request would repeat what kubectl shows.
func warningHandler(cfg *rest.Config) rest.WarningHandlerWithContext {
	switch {
	case cfg.WarningHandlerWithContext != nil:
		return cfg.WarningHandlerWithContext
	case cfg.WarningHandler != nil:
		return withoutContext{cfg.WarningHandler}
	}
	return nil
}

// withoutContext is a handler that has no use for the context.
type withoutContext struct{ rest.WarningHandler }

func (w withoutContext) HandleWarningHeaderWithContext(_ context.Context, code int, agent, text string) {
	w.HandleWarningHeader(code, agent, text)
}

// warn passes on what the server warns of, such as an API version that will be removed.
func (r *Resource[T]) warn(ctx context.Context, resp *http.Response) {
	if r.warned == nil {
		return
	}
	warnings, _ := utilnet.ParseWarningHeaders(resp.Header.Values("Warning"))
	for _, w := range warnings {
		r.warned.HandleWarningHeaderWithContext(ctx, w.Code, Cut(w.Agent), Cut(w.Text))
	}
}

// reportingBody calls arrived for each Read that returned bytes, also with an error.
type reportingBody struct {
	io.ReadCloser
	arrived func()
}

// Read implements [io.Reader].
func (b *reportingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.arrived()
	}
	return n, err
}

// query encodes all options, those included that later versions of ListOptions may
// have, with the selectors of the source added.
func (r *Resource[T]) query(o metav1.ListOptions) (url.Values, error) {
	// The server combines the requirements of a selector with AND.
	o.LabelSelector = both(r.opts.LabelSelector, o.LabelSelector)
	o.FieldSelector = both(r.opts.FieldSelector, o.FieldSelector)
	q, err := queryparams.Convert(&o)
	if err != nil {
		return nil, err
	}
	// Convert leaves out false and 0 also where a pointer says that they are meant. An
	// example is sendInitialEvents=false, which is not the same as leaving it out
	// (KEP-3157).
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
