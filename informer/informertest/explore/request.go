package explore

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/informer/informertest"
)

// request is a request of the controller that waits to be let through.
type request struct {
	informertest.Request
	http    *http.Request
	body    []byte
	created string // the name in the body of a create, or its generateName
	process *process
	missing string // in a trace: what the process could not know when it sent this
	arrived int
	done    chan answer // gets one answer
}

// answer is what a request gets: a response, or the error of a broken connection.
type answer struct {
	response *http.Response
	err      error
}

// newRequest reads what a client sends.
func newRequest(r *http.Request, p *process) (*request, error) {
	rq := &request{http: r, process: p, done: make(chan answer, 1)}
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if closeErr := r.Body.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			return nil, err
		}
		rq.body = body
	}
	rq.parse()
	return rq, nil
}

// parse fills in what the path and the method say. A path that is not of the API's shape,
// such as that of discovery, leaves the resource empty.
func (rq *request) parse() {
	r := rq.http
	rq.Query, rq.UserAgent = r.URL.RawQuery, r.UserAgent()
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2:
		rq.Version, parts = parts[1], parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		rq.Group, rq.Version, parts = parts[1], parts[2], parts[3:]
	default:
		return
	}
	if len(parts) > 2 && parts[0] == "namespaces" && parts[2] != "status" && parts[2] != "finalize" {
		rq.Namespace, parts = parts[1], parts[2:]
	}
	rq.Resource = parts[0]
	if len(parts) > 1 {
		rq.Name = parts[1]
	}
	if len(parts) > 2 {
		rq.Subresource = parts[2]
	}
	switch r.Method {
	case http.MethodGet:
		rq.Verb = "list"
		if watch := r.URL.Query().Get("watch"); watch == "true" || watch == "1" {
			rq.Verb = "watch"
		} else if rq.Name != "" {
			rq.Verb = "get"
		}
	case http.MethodPost:
		rq.Verb = "create"
		_, rq.created = nameIn(rq.body)
	case http.MethodPut:
		rq.Verb = "update"
	case http.MethodPatch:
		rq.Verb = "patch"
	case http.MethodDelete:
		rq.Verb = "delete"
		if rq.Name == "" {
			rq.Verb = "deletecollection"
		}
	}
}

// gvr is the resource.
func (rq *request) gvr() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: rq.Group, Version: rq.Version, Resource: rq.Resource}
}

// writes reports whether the request may change an object.
func (rq *request) writes() bool {
	switch rq.Verb {
	case "create", "update", "patch", "delete", "deletecollection":
		return !strings.HasSuffix(rq.Group, "authorization.k8s.io") && !strings.HasSuffix(rq.Group, "authentication.k8s.io")
	}
	return false
}

// housekeeping reports whether a write says nothing about the work of a controller.
func (rq *request) housekeeping() bool {
	return rq.Resource == "leases" || rq.Resource == "events"
}

// order is what requests that wait at the same time are ordered by.
func (rq *request) order() string {
	return rq.process.name + " " + rq.Verb + " " + rq.Group + "/" + rq.Resource + "/" + rq.Subresource + " " + rq.Namespace + "/" + rq.Name + rq.created
}

// forServer is the request as the server gets it: answers are asked for in JSON, which
// this package reads, and query replaces that of the client if it is not nil.
func (rq *request) forServer(query url.Values) *http.Request {
	r := rq.http.Clone(rq.http.Context())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(rq.body)), int64(len(rq.body))
	r.RequestURI, r.RemoteAddr = r.URL.RequestURI(), "explore"
	if accept := r.Header.Get("Accept"); strings.Contains(accept, "application/json") && !strings.Contains(accept, ";as=") {
		r.Header.Set("Accept", "application/json")
	}
	if query != nil {
		r.URL.RawQuery = query.Encode()
	}
	return r
}

// nameIn returns the name in an object, or its generateName; nothing if it is not JSON.
func nameIn(body []byte) (namespace, name string) {
	var obj struct {
		Metadata struct{ Namespace, Name, GenerateName string }
	}
	if json.Unmarshal(body, &obj) != nil {
		return "", ""
	}
	return obj.Metadata.Namespace, cmp.Or(obj.Metadata.Name, obj.Metadata.GenerateName)
}

// recorder is the http.ResponseWriter of an answer that is complete when the handler returns.
type recorder struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func (w *recorder) Header() http.Header { return w.header }

func (w *recorder) WriteHeader(code int) {
	if w.code == 0 {
		w.code = code
	}
}

func (w *recorder) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(b)
}

// FlushError lets a handler flush: there is nothing to do.
func (w *recorder) FlushError() error { return nil }

// respond makes the response of a recorded answer.
func (w *recorder) respond(r *http.Request) *http.Response {
	return response(r, w.code, w.header, io.NopCloser(bytes.NewReader(w.body.Bytes())), int64(w.body.Len()))
}

func response(r *http.Request, code int, header http.Header, body io.ReadCloser, length int64) *http.Response {
	if code == 0 {
		code = http.StatusOK
	}
	return &http.Response{
		Status: http.StatusText(code), StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: body, ContentLength: length, Request: r,
	}
}
