package informertest

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
)

// ServeHTTP implements http.Handler. It lets the server be reached in ways
// other than its own listener; Close does not wait for requests made so.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := s.route(w, r); err != nil {
		writeStatus(w, r, statusOf(err))
	}
}

// route answers the request, or returns the error to answer with.
func (s *Server) route(w http.ResponseWriter, r *http.Request) error {
	if t, ok := parsePath(r.URL.Path); ok {
		if t.resource == "" {
			return s.discovery(w, r, t)
		}
		return s.serveResource(w, r, t)
	}
	if strings.HasPrefix(r.URL.Path, "/openapi/") {
		return s.openAPI(w, r)
	}
	switch r.URL.Path {
	case "/version":
		return writeJSON(w, http.StatusOK, serverVersion())
	case "/healthz", "/livez", "/readyz":
		_, err := w.Write([]byte("ok"))
		return err
	}
	if r.URL.Path == "/" {
		return writeJSON(w, http.StatusOK, map[string]any{"paths": s.store.paths()})
	}
	http.Error(w, "404 page not found", http.StatusNotFound)
	return nil
}

// call is a request to a resource on its way through the server.
type call struct {
	server *Server
	w      http.ResponseWriter
	r      *http.Request
	target target
	c      *collection
	res    Resource
	view   view
	tamper *tamper // of a watch that meets with a fault
}

// serveResource answers a request for objects.
func (s *Server) serveResource(w http.ResponseWriter, r *http.Request, t target) error {
	rv, isReview := reviewOf(t)
	c, res, ok := s.store.lookup(t.group, t.version, t.resource)
	if isReview {
		res, ok = rv.res, true
	}
	if !ok && !s.store.serves(t.group, t.version) {
		http.Error(w, "404 page not found", http.StatusNotFound)
		return nil
	}
	if !ok || t.namespace != "" && res.ClusterScoped {
		return errUnknownPath()
	}
	sub, ok := subresourceOf(res, t.subresource)
	if !ok {
		return errNoSubresource(res, t.subresource)
	}
	verb := verbOf(r, t)
	request := Request{
		Verb: verb, Group: t.group, Version: t.version, Resource: t.resource, Namespace: t.namespace, Name: t.name,
		Subresource: t.subresource, Query: r.URL.RawQuery, UserAgent: r.UserAgent(), Time: time.Now(),
	}
	s.log.add(request)
	vw, err := negotiate(r, res, t.version, s.types())
	if err != nil {
		return err
	}
	cl := &call{server: s, w: w, r: r, target: t, c: c, res: res, view: vw}
	switch everywhere := !res.ClusterScoped && t.namespace == ""; {
	case everywhere && t.name != "":
		return errUnknownPath()
	case verb == "" || everywhere && (verb == "create" || verb == "deletecollection"), verb == "deletecollection" && hasContent(res):
		return errMethod()
	}
	if answered, err := cl.meet(request); answered || err != nil {
		return err
	}
	switch {
	case isReview:
		return rv.serve(cl, verb)
	case t.subresource != "":
		return cl.serveSubresource(sub, verb)
	}
	return cl.res.named(cl.serve(verb))
}

// serve carries the request out.
func (cl *call) serve(verb string) error {
	switch verb {
	case "get":
		return cl.get()
	case "list":
		return cl.list()
	case "watch":
		return cl.watch()
	case "create":
		return cl.create()
	case "update":
		return cl.update()
	case "patch":
		return cl.patch()
	case "delete":
		return cl.delete()
	case "deletecollection":
		return cl.deleteCollection()
	}
	return errMethod()
}

// verbOf names what a request does, as RBAC rules do; empty if it makes no sense.
func verbOf(r *http.Request, t target) string {
	named := t.name != ""
	switch {
	case r.Method == http.MethodGet && named:
		return "get"
	case r.Method == http.MethodGet && isWatch(r):
		return "watch"
	case r.Method == http.MethodGet:
		return "list"
	case r.Method == http.MethodPost && (!named || t.subresource != ""):
		return "create"
	case r.Method == http.MethodPut && named:
		return "update"
	case r.Method == http.MethodPatch && named:
		return "patch"
	case r.Method == http.MethodDelete && t.subresource != "":
		return ""
	case r.Method == http.MethodDelete && named:
		return "delete"
	case r.Method == http.MethodDelete:
		return "deletecollection"
	}
	return ""
}

// isWatch reports whether a GET asks for a watch.
func isWatch(r *http.Request) bool {
	switch r.URL.Query().Get("watch") {
	case "", "0", "false":
		return false
	}
	return true
}

// get answers a GET of one object. A resourceVersion means "not older than" (API
// concepts, "Resource versions"), so the answer waits until the store has reached it.
func (cl *call) get() error {
	var opts metav1.GetOptions
	if err := cl.server.params.decode(cl.r.URL.Query(), &opts); err != nil {
		return err
	}
	rv, err := parseRV(opts.ResourceVersion)
	if err != nil {
		return err
	}
	s := cl.server.store
	if err := s.await(cl.r.Context(), rv, cl.server.opts.FreshnessTimeout); err != nil {
		return err
	}
	v, err := s.get(cl.c, cl.target.namespace, cl.target.name)
	if err != nil {
		return err
	}
	return cl.respond(http.StatusOK, v)
}

// list answers a GET of a collection, one page of it if the query has a limit.
func (cl *call) list() error {
	q, err := cl.server.params.listQuery(cl.r.URL.Query(), !cl.server.opts.DisableWatchList)
	if err != nil {
		return err
	}
	sel, err := parseSelection(cl.res, cl.target.namespace, q.LabelSelector, q.FieldSelector)
	if err != nil {
		return err
	}
	if sel.shards, err = cl.server.parseShards(q.ShardSelector); err != nil {
		return err
	}
	p, err := cl.server.store.list(cl.r.Context(), cl.c, sel, q, cl.server.opts)
	if err != nil {
		return err
	}
	p.shards = cl.view.shardInfo(sel.shards)
	return cl.view.writeList(cl.w, p)
}

// watch answers a GET with watch=true. It returns when the watch has ended; errors that
// it returns are sent as a Status, so there are none once the stream has begun.
func (cl *call) watch() error {
	q, err := cl.server.params.listQuery(cl.r.URL.Query(), !cl.server.opts.DisableWatchList)
	if err != nil {
		return err
	}
	sel, err := parseSelection(cl.res, cl.target.namespace, q.LabelSelector, q.FieldSelector)
	if err != nil {
		return err
	}
	if sel.shards, err = cl.server.parseShards(q.ShardSelector); err != nil {
		return err
	}
	rv, err := parseRV(q.ResourceVersion)
	if err != nil {
		return err
	}
	cl.w.Header().Set("Content-Type", cl.view.media())
	if cl.view.proto {
		cl.w.Header().Set("Content-Type", mediaProtobuf+";stream=watch")
	}
	wt := &watcher{
		store: cl.server.store, c: cl.c, sel: sel, view: cl.view, out: cl.w,
		flush: http.NewResponseController(cl.w).Flush, hang: cl.hang, tamper: cl.tamper,
	}
	// Past this point errors are events, or the end of a broken connection.
	if err := wt.serve(cl.r.Context(), cl.server.closing, q, rv, cl.server.opts); err == nil {
		cl.tamper.finish(wt)
	}
	return nil
}

// create answers a POST to a collection, with 201 and the object as it was stored.
func (cl *call) create() error {
	var opts metav1.CreateOptions
	if err := cl.server.params.decode(cl.r.URL.Query(), &opts); err != nil {
		return err
	}
	if err := invalidOptions("CreateOptions", metavalidation.ValidateCreateOptions(&opts)); err != nil {
		return err
	}
	obj, err := cl.object(opts.FieldValidation)
	if err != nil {
		return err
	}
	cl.mergeOwners(obj, "")
	owners := obj.GetOwnerReferences()
	v, err := cl.server.store.create(cl.c, cl.res.toStored(obj, cl.target.version), cl.writeOptions(opts.DryRun, opts.FieldManager))
	if err != nil {
		return err
	}
	cl.owned(true, nil, owners)
	return cl.respond(http.StatusCreated, v)
}

// update answers a PUT. For a few resources a PUT to a name that does not exist creates
// the object; all others answer 404.
func (cl *call) update() error {
	var opts metav1.UpdateOptions
	if err := cl.server.params.decode(cl.r.URL.Query(), &opts); err != nil {
		return err
	}
	if err := invalidOptions("UpdateOptions", metavalidation.ValidateUpdateOptions(&opts)); err != nil {
		return err
	}
	obj, err := cl.object(opts.FieldValidation)
	if err != nil {
		return err
	}
	cl.mergeOwners(obj, "")
	write := cl.writeOptions(opts.DryRun, opts.FieldManager)
	write.replaces = true
	err = cl.write(write, func(*unstructured.Unstructured) (*unstructured.Unstructured, error) { return obj, nil })
	if apierrors.IsNotFound(err) && cl.target.subresource == "" && createsOnUpdate(cl.res) {
		v, err := cl.server.store.create(cl.c, cl.res.toStored(obj, cl.target.version), write)
		if err != nil {
			return err
		}
		return cl.respond(http.StatusCreated, v)
	}
	return err
}

// writeOptions are those of a write by a client.
func (cl *call) writeOptions(dryRun []string, manager string) writeOptions {
	return writeOptions{
		dryRun: len(dryRun) > 0, subresource: cl.target.subresource,
		manager: managerOf(manager, cl.r.UserAgent()), version: cl.trackedVersion(),
	}
}

// trackedVersion is the version in which a write is noted in managedFields: that of
// the request, or else the stored one.
func (cl *call) trackedVersion() string {
	if cl.res.converted(cl.target.version) {
		return cl.res.storedVersion().Version
	}
	return cl.target.version
}

// write carries out an update or patch and responds with the outcome.
func (cl *call) write(opts writeOptions, modify func(*unstructured.Unstructured) (*unstructured.Unstructured, error)) error {
	opts.owners = &ownersChange{}
	v, err := cl.server.store.update(cl.c, cl.target.namespace, cl.target.name, opts, cl.res.inVersion(cl.target.version, modify))
	if err != nil {
		return err
	}
	cl.owned(false, opts.owners.before, opts.owners.after)
	return cl.respond(http.StatusOK, v)
}

// respond sends one object.
func (cl *call) respond(code int, v *version) error {
	body, err := cl.view.object(v)
	if err != nil {
		return err
	}
	if cl.r.Method != http.MethodGet && cl.r.Method != http.MethodDelete {
		cl.warnOfRules(v)
	}
	cl.w.Header().Set("Content-Type", cl.view.media())
	cl.w.WriteHeader(code)
	_, _ = cl.w.Write(body) // a client that has gone needs no answer
	return nil
}

// writeJSON sends any value.
func writeJSON(w http.ResponseWriter, code int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", mediaJSON)
	w.WriteHeader(code)
	_, _ = w.Write(append(body, '\n'))
	return nil
}

// writeStatus sends an error, as protobuf to a client that prefers it.
func writeStatus(w http.ResponseWriter, r *http.Request, status metav1.Status) {
	if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", formatRV(uint64(status.Details.RetryAfterSeconds)))
	}
	accept := parseAccept(strings.Join(r.Header.Values("Accept"), ","))
	if len(accept) > 0 && accept[0].media == mediaProtobuf {
		if message, err := status.Marshal(); err == nil {
			w.Header().Set("Content-Type", mediaProtobuf)
			w.WriteHeader(int(status.Code))
			_, _ = w.Write(envelope(status.TypeMeta, message)) // a client that has gone needs no answer
			return
		}
	}
	_ = writeJSON(w, int(status.Code), status)
}
