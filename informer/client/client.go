package client

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/informerkit/informerkit/internal/apijson"
	"github.com/informerkit/informerkit/internal/httpclient"
	"github.com/informerkit/informerkit/internal/object"
	"github.com/informerkit/informerkit/workqueue"
)

// Object is what an API server stores, such as *corev1.Pod, a type of your own, or
// *unstructured.Unstructured.
type Object = object.Object

// Options configures a [Client]. The zero value is ready to use.
type Options struct {
	// Kind is that of the objects. Empty is the name of the Go type, which is right for
	// generated types. An unstructured object says its kind itself.
	Kind string
	// FieldManager names the writer in managedFields, in up to 128 bytes of printable characters.
	// [Client.Apply] needs it.
	FieldManager string
	// Timeout bounds a request with its repetitions, 30 s if 0. The Timeout of the
	// rest.Config comes before this default.
	Timeout time.Duration
	// Subresource, such as "scale", is what is read and written instead of the object. See
	// also [Client.Status].
	Subresource string
	// Cache is the informer of the resource, if there is one: each write is then collected
	// for [Writes], as what this cache has to see.
	Cache Cache
	// ListMapKeys names the fields that identify an element of a list, as x-kubernetes-list-map-keys does in a
	// definition: {"spec.listeners": {"name"}, "spec.pools.*.members": {"host", "port"}}. A star stands for any member of
	// a map; the elements of a list add nothing to a path. Modify and CreateOrUpdate match elements by these fields, by the
	// patchMergeKey of the Go type, or else by position.
	ListMapKeys map[string][]string
}

// Cache says when it has seen a write, and what it has; an informer of the resource does.
type Cache interface {
	Seen(written metav1.Object) workqueue.Condition
	Find(key types.NamespacedName) (object.Object, bool)
}

// defaultTimeout is for a server that accepts a request and never answers.
const defaultTimeout = 30 * time.Second

// Client reads and writes the objects of one resource. All methods may be called
// concurrently. Where the server has answered, errors are those of
// k8s.io/apimachinery/pkg/api/errors.
type Client[T Object] struct {
	http     *http.Client
	base     url.URL // of the API group: https://host/apis/apps/v1
	resource schema.GroupVersionResource
	kind     schema.GroupVersionKind // of typed objects
	expected string                  // the kind that responses must have; empty is any
	elem     reflect.Type            // objects are of type *elem
	protobuf bool
	jsonOnly *atomic.Bool            // set once the server has refused to read protobuf
	agent    string                  // the User-Agent
	limiter  flowcontrol.RateLimiter // nil: none
	warnings func(ctx context.Context, header http.Header)
	opts     Options
}

// New returns a client of the resource. It makes no request. Objects travel as protobuf if T has
// that form, unless the ContentType of cfg is JSON. The limits of cfg on requests
// per second apply to the client, by default 5 with a burst of 10; give cfg a RateLimiter to
// have several clients share one.
func New[T Object](cfg *rest.Config, resource schema.GroupVersionResource, opts Options) (*Client[T], error) {
	if cfg == nil {
		return nil, errors.New("client: New needs a rest.Config; read one with clientcmd or rest.InClusterConfig")
	}
	if resource.Version == "" || resource.Resource == "" {
		return nil, fmt.Errorf("client: %q is not a complete resource: version and plural name are needed", resource.String())
	}
	for _, segment := range []string{resource.Group, resource.Version, resource.Resource, opts.Subresource} {
		if wrong := content.IsPathSegmentName(segment); len(wrong) > 0 {
			return nil, fmt.Errorf("client: %q can be no part of a URL: it %s", segment, wrong[0])
		}
	}
	if wrong := metav1validation.ValidateFieldManager(opts.FieldManager, field.NewPath("Options.FieldManager")); len(wrong) > 0 {
		return nil, fmt.Errorf("client: %w", httpclient.CutError(wrong.ToAggregate()))
	}
	typ := reflect.TypeFor[T]()
	if typ.Kind() != reflect.Pointer || typ.Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("client: %s is not a pointer to a struct such as *corev1.Pod", typ)
	}
	if opts.Timeout < 0 {
		return nil, fmt.Errorf("client: the Timeout is %s; use 0 for the default of %s, or a positive duration", opts.Timeout, defaultTimeout)
	}
	for path, keys := range opts.ListMapKeys {
		if len(keys) == 0 || slices.Contains(append(strings.Split(path, "."), keys...), "") {
			return nil, fmt.Errorf("client: ListMapKeys has %q: %q; name a list, as in \"spec.ports\", and the fields that identify an element", path, keys)
		}
	}
	opts.Timeout = cmp.Or(opts.Timeout, cfg.Timeout, defaultTimeout)
	cfg = rest.CopyConfig(cfg)
	cfg.Timeout = 0 // it is the end of a context instead, which costs less than a copy of the request
	cfg.UserAgent = cmp.Or(cfg.UserAgent, rest.DefaultKubernetesUserAgent())
	gv := resource.GroupVersion()
	cfg.GroupVersion, cfg.APIPath = &gv, "/apis"
	if gv.Group == "" {
		cfg.APIPath = "/api"
	}
	connection, err := httpclient.For(cfg)
	if err != nil {
		return nil, fmt.Errorf("client: %s: %w", resource.Resource, err)
	}
	base, prefix, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("client: %s: %w", resource.Resource, err)
	}
	c := &Client[T]{
		http: connection, base: *base, resource: resource, elem: typ.Elem(), agent: cfg.UserAgent, opts: opts,
		kind: gv.WithKind(cmp.Or(opts.Kind, typ.Elem().Name())), limiter: limiterOf(cfg), warnings: warningsOf(cfg), jsonOnly: new(atomic.Bool),
	}
	c.base.Path = path.Join("/", base.Path, prefix)
	c.protobuf = cfg.ContentType != mimeJSON && typ.Implements(reflect.TypeFor[message]()) && !apijson.IsRecursive(c.elem)
	if c.expected = c.kind.Kind; opts.Kind == "" && (c.isUnstructured() || c.elem == reflect.TypeFor[metav1.PartialObjectMetadata]()) {
		c.expected = "" // these hold objects of any kind
	}
	return c, nil
}

// Status returns a client of the same objects that writes their status: the server ignores the
// rest of what it gets.
func (c *Client[T]) Status() *Client[T] {
	status := *c
	status.opts.Subresource = "status"
	return &status
}

// Get reads an object.
func (c *Client[T]) Get(ctx context.Context, key types.NamespacedName) (T, error) {
	obj, _, err := c.object(ctx, call{verb: http.MethodGet, key: key})
	return obj, err
}

// Create writes a new object and returns it as stored. An object without a name needs a
// GenerateName.
func (c *Client[T]) Create(ctx context.Context, obj T) (T, error) {
	return c.write(ctx, http.MethodPost, obj)
}

// Update replaces an object, its status aside, and returns it as stored. If obj has a
// resourceVersion that is not the stored one, the server refuses with a conflict. Update is a PUT of the whole
// object: it deletes each field that obj lacks, including those that its Go type does not have or that the Transform
// of a cache has dropped. To change an object, use [Client.Modify], [Client.Patch] or [Client.Apply].
func (c *Client[T]) Update(ctx context.Context, obj T) (T, error) {
	return c.write(ctx, http.MethodPut, obj)
}

// Patch changes an object by a patch of one of the types of package types.
func (c *Client[T]) Patch(ctx context.Context, key types.NamespacedName, patch types.PatchType, body []byte) (T, error) {
	return c.written(ctx, call{verb: http.MethodPatch, key: key, contentType: string(patch), body: body})
}

// Apply changes an object to have the fields of config, by server-side apply, and creates it if
// there is none (https://kubernetes.io/docs/reference/using-api/server-side-apply). Config
// is an apply configuration, a map, or an object that has only the fields that are meant. With
// force, fields of other managers are taken over; without it they are conflicts.
func (c *Client[T]) Apply(ctx context.Context, key types.NamespacedName, config any, force bool) (none T, err error) {
	if c.opts.FieldManager == "" {
		return none, errors.New("client: Apply needs a FieldManager in the Options: the server keeps by it whose fields are whose")
	}
	body, err := marshalJSON(config)
	if err != nil {
		return none, fmt.Errorf("client: apply %s %s: %w", c.resource.Resource, key, err)
	}
	query := url.Values{"force": {strconv.FormatBool(force)}}
	return c.written(ctx, call{verb: http.MethodPatch, key: key, contentType: string(types.ApplyPatchType), body: body, query: query})
}

// Delete asks for an object to be deleted. Give opts the UID as a precondition, so that
// another object that has taken the name since is not deleted: see [Exactly].
//
// API servers orphan the pods of a Job (batch/v1) or a ReplicationController (v1) unless the deletion says otherwise.
// Delete reads such an object first and asks for Background if opts has no policy, unless the object is being deleted
// or has a finalizer that states another policy. For any other kind no policy is sent.
func (c *Client[T]) Delete(ctx context.Context, key types.NamespacedName, opts metav1.DeleteOptions) error {
	if !c.orphans(opts) || c.opts.Subresource != "" {
		return c.delete(ctx, key, opts)
	}
	for attempt := 1; ; attempt++ {
		obj, err := c.Get(ctx, key)
		if apierrors.IsForbidden(err) {
			return fmt.Errorf("%w; Delete reads the object first, to delete its pods as well: grant get, or set a PropagationPolicy", err)
		}
		if err != nil {
			return err
		}
		send, pre := opts, cmp.Or(opts.Preconditions, &metav1.Preconditions{})
		finalizers := obj.GetFinalizers()
		if obj.GetDeletionTimestamp() == nil && !slices.Contains(finalizers, metav1.FinalizerOrphanDependents) && !slices.Contains(finalizers, metav1.FinalizerDeleteDependents) {
			version, policy := obj.GetResourceVersion(), metav1.DeletePropagationBackground
			send.PropagationPolicy = &policy
			// In the version that was read: a deletion that orphans may begin meanwhile.
			send.Preconditions = &metav1.Preconditions{UID: pre.UID, ResourceVersion: cmp.Or(pre.ResourceVersion, &version)}
		}
		err = c.delete(ctx, key, send)
		if !apierrors.IsConflict(err) || pre.ResourceVersion != nil || pre.UID != nil && *pre.UID != obj.GetUID() || attempt == tries {
			return err
		}
	}
}

// orphans reports whether a deletion without more options would leave the dependents of an object behind.
func (c *Client[T]) orphans(opts metav1.DeleteOptions) bool {
	return opts.PropagationPolicy == nil && opts.OrphanDependents == nil && //nolint:staticcheck // the API still has it
		(c.resource == schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"} || c.resource == schema.GroupVersionResource{Version: "v1", Resource: "replicationcontrollers"})
}

// delete sends a deletion.
func (c *Client[T]) delete(ctx context.Context, key types.NamespacedName, opts metav1.DeleteOptions) error {
	opts.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"}
	body, err := marshalJSON(&opts)
	if err != nil {
		return fmt.Errorf("client: delete %s %s: %w", c.resource.Resource, key, err)
	}
	answer, err := c.do(ctx, call{verb: http.MethodDelete, key: key, contentType: mimeJSON, body: body})
	defer answer.release()
	if err != nil || c.opts.Cache == nil || writesOf(ctx) == nil || len(opts.DryRun) > 0 {
		return err
	}
	c.note(ctx, c.deleted(answer, key, opts), false)
	return nil
}

// deleted returns what a cache has to see of a deletion: the object as it is marked, if something holds it back;
// else one that is gone. The answer has the object, or a Status that says which one it was.
func (c *Client[T]) deleted(answer answer, key types.NamespacedName, opts metav1.DeleteOptions) metav1.Object {
	now := metav1.Now()
	gone := &metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, DeletionTimestamp: &now}
	var status metav1.Status
	switch obj, err := c.decode(answer); {
	case err == nil && obj.GetDeletionTimestamp() != nil:
		return obj
	case err == nil:
		gone.UID = obj.GetUID()
	case decodeInto(answer, &status, "Status") == nil && status.Details != nil && status.Details.UID != "":
		gone.UID = status.Details.UID
	case opts.Preconditions != nil && opts.Preconditions.UID != nil:
		gone.UID = *opts.Preconditions.UID
	}
	return gone
}

// DeleteCollection asks for all objects of a namespace to be deleted that list selects. For Jobs and
// ReplicationControllers opts must have a PropagationPolicy; see [Client.Delete].
func (c *Client[T]) DeleteCollection(ctx context.Context, namespace string, opts metav1.DeleteOptions, list metav1.ListOptions) error {
	if c.orphans(opts) {
		return fmt.Errorf("client: delete %s: opts has no PropagationPolicy, and the API server would orphan the pods; set Background, or Orphan to keep them", c.resource.Resource)
	}
	query, err := listQuery(&list)
	if err != nil {
		return fmt.Errorf("client: delete %s: %w", c.resource.Resource, err)
	}
	opts.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"}
	body, err := marshalJSON(&opts)
	if err != nil {
		return fmt.Errorf("client: delete %s: %w", c.resource.Resource, err)
	}
	_, err = c.do(ctx, call{verb: http.MethodDelete, list: true, key: types.NamespacedName{Namespace: namespace}, query: query, contentType: mimeJSON, body: body, read: func(string, io.Reader) error { return nil }})
	return err
}

// Exactly returns the options to delete obj and nothing else that has its name. If it is deleted because of
// what it says, set Preconditions.ResourceVersion, too: it may say something else by now. They contain no policy
// for its dependents: [Client.Delete] adds Background for Jobs and ReplicationControllers, another client keeps
// their pods unless PropagationPolicy is set.
func Exactly(obj metav1.Object) metav1.DeleteOptions {
	uid := obj.GetUID()
	return metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
}

// List reads the objects of a namespace that opts select; the empty namespace means all.
// With a Limit it reads page by page, and returns the whole. If the token of a page expires, it starts again
// without a limit. A collection of more than 2,000,000 objects or 4 GiB, or an object of more than 8 MiB, is an error.
func (c *Client[T]) List(ctx context.Context, namespace string, opts metav1.ListOptions) ([]T, error) {
	l, query := pages[T]{}, opts
	used := map[string]bool{}
	for {
		values, err := listQuery(&query)
		if err != nil {
			return nil, fmt.Errorf("client: list %s: %w", c.resource.Resource, err)
		}
		before := len(l.items)
		_, err = c.do(ctx, call{verb: http.MethodGet, list: true, key: types.NamespacedName{Namespace: namespace}, query: values, read: func(contentType string, body io.Reader) error {
			if err := c.page(&l, contentType, body); err != nil {
				return fmt.Errorf("client: list %s: %w", c.resource.Resource, err)
			}
			return nil
		}})
		switch {
		case (apierrors.IsResourceExpired(err) || apierrors.IsGone(err)) && query.Continue != opts.Continue:
			// Pages that take longer than the server's history lasts would expire again: all in one piece then.
			l, query = pages[T]{}, opts
			query.Limit = 0
			used = nil
			continue
		case err != nil:
			return nil, err
		case l.next == "":
			return l.items, nil
		case used == nil || used[l.next] || len(l.items) == before || len(l.next) > httpclient.MaxContinue:
			return nil, fmt.Errorf("client: list %s: after %d objects the server sent a continue token that it sent before, that follows a page without objects, that nothing asked for, or of more than %d bytes; it does not support limit and continue", c.resource.Resource, len(l.items), httpclient.MaxContinue)
		}
		used[l.next] = true
		query.Continue, query.ResourceVersion, query.ResourceVersionMatch = l.next, "", "" // the token holds them
	}
}

// write sends obj: to its own URL, or with POST to that of the collection. A server that does not read
// protobuf of the resource is sent JSON, now and from now on.
func (c *Client[T]) write(ctx context.Context, verb string, obj T) (none T, err error) {
	if object.IsNil(obj) {
		return none, errors.New("client: the object is nil")
	}
	call := call{verb: verb, key: object.KeyOf(obj)}
	if call.body, call.contentType, err = c.encode(obj); err != nil {
		return none, fmt.Errorf("client: %s %s: %w", c.resource.Resource, call.key, err)
	}
	none, err = c.written(ctx, call)
	if call.contentType != mimeProtobuf || !apierrors.IsUnsupportedMediaType(err) {
		return none, err
	}
	c.jsonOnly.Store(true)
	return c.write(ctx, verb, obj)
}

// object sends a request whose answer is an object, which the request has created or not.
func (c *Client[T]) object(ctx context.Context, call call) (obj T, created bool, err error) {
	answer, err := c.do(ctx, call)
	defer answer.release()
	if err != nil {
		return obj, false, err
	}
	if call.text != nil && mediaType(answer.contentType) == mimeJSON {
		*call.text = bytes.Clone(answer.body)
	}
	if obj, err = c.decode(answer); err != nil {
		var none T
		return none, false, fmt.Errorf("client: the answer for %s %s is not a %s: %w", c.resource.Resource, call.key, c.elem, err)
	}
	return obj, answer.created, nil
}

// url returns where a request goes:
//
//	https://host/apis/apps/v1 /namespaces/prod /deployments /web /status
func (c *Client[T]) url(call call) (url.URL, error) {
	u := c.base
	var at strings.Builder
	at.WriteString(u.Path)
	parts := [][2]string{{"/namespaces/", call.key.Namespace}, {"/", c.resource.Resource}}
	if !call.list && (call.verb != http.MethodPost || c.opts.Subresource != "") { // else it goes to the collection
		parts = append(parts, [2]string{"/", call.key.Name}, [2]string{"/", c.opts.Subresource})
	}
	for _, part := range parts {
		if part[1] == "" {
			continue
		}
		if wrong := content.IsPathSegmentName(part[1]); len(wrong) > 0 {
			return u, fmt.Errorf("client: %q can be no part of a URL: it %s", part[1], wrong[0])
		}
		at.WriteString(part[0] + part[1])
	}
	u.Path = at.String()
	query := call.query
	if c.opts.FieldManager != "" && call.verb != http.MethodGet && call.verb != http.MethodDelete {
		if query == nil {
			query = url.Values{}
		}
		query.Set("fieldManager", c.opts.FieldManager)
	}
	u.RawQuery = query.Encode()
	return u, nil
}

// isUnstructured reports whether the objects carry their kind themselves.
func (c *Client[T]) isUnstructured() bool {
	return c.elem == reflect.TypeFor[unstructured.Unstructured]()
}
