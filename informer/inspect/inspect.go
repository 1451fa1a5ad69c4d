package inspect

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/informerkit/informerkit/workqueue/history"
)

// DefaultMaxItems is how many items of a queue are shown of each kind (queued,
// delayed, parked, running, failing) if the options do not say otherwise.
const DefaultMaxItems = 20

// Options configures a [Handler]. The zero value is ready to use: it shows nothing yet, and
// answers requests to loopback addresses.
type Options struct {
	// Show is what to show from the beginning; see also [Handler.Add].
	Show []Source
	// MaxItems is how many items of a queue are shown of each kind, at most. 0 is
	// [DefaultMaxItems]. It also bounds the time for which a request locks the
	// queue.
	MaxItems int
	// Hosts are the names and addresses, without ports, that requests may be sent to,
	// besides localhost and loopback addresses. "*" permits all. A page on another site
	// can make a browser send requests to a loopback address, under a name of
	// that site; so a request whose Host is not known is answered with 403.
	Hosts []string
	// HideErrors withholds the texts of the errors and panics of the program's own
	// functions: those that ProcessWith runs, and handlers. Set it if they quote what
	// is in objects. Texts of the library that may do so are always withheld.
	HideErrors bool
	// History, if set, is what the informers and the queues record in. With it, the
	// parameter key of a request shows what happened to one key, and why it is not
	// processed. Without it, such a request shows only where the key is now.
	History *history.Recorder
	// ShowObjects shows the bodies of objects that are looked up by a key, to all
	// who may see the page: all that is in them but managedFields, the annotation
	// kubectl.kubernetes.io/last-applied-configuration, and the data of Secrets. Without
	// it only metadata are shown: names, versions, times, the names of labels and
	// annotations.
	ShowObjects bool
}

// Handler is an [http.Handler] that shows what it was given, as a page, as text or as
// JSON. Create one with [New]. All methods may be called concurrently.
//
// The options do not change after New, so they are read without the lock.
type Handler struct {
	opts Options

	// mu guards the slice, not what the sources show. It is held for a copy of the
	// slice, or for a change of it, and never while a source is asked.
	mu    sync.Mutex
	shown []*Source // pointers, so that entries can be compared
}

// New returns a handler. It fails if the options are impossible or a source is
// of something that is nil.
func New(opts Options) (*Handler, error) {
	if opts.MaxItems < 0 {
		return nil, fmt.Errorf("inspect: MaxItems is %d; use 0 for the default of %d, or a positive number", opts.MaxItems, DefaultMaxItems)
	}
	if slices.Contains(opts.Hosts, "") {
		return nil, errors.New("inspect: Hosts has an empty name; name the hosts without ports, or use \"*\" for all")
	}
	h := &Handler{opts: opts}
	h.opts.Hosts = slices.Clone(opts.Hosts)
	if h.opts.MaxItems == 0 {
		h.opts.MaxItems = DefaultMaxItems
	}
	_, err := h.Add(opts.Show...)
	return h, err
}

// Add shows more, until remove is called. A request that is being answered may
// or may not show it. Calling remove again does nothing.
//
// The handler keeps what it shows alive: remove an informer or a queue that ends
// before the program does. A factory takes care of its informers.
//
// It is all or nothing: if one source is empty, none is added.
func (h *Handler) Add(sources ...Source) (remove func(), err error) {
	// Looked at before the lock is taken, and before anything is added.
	for i := range sources {
		if sources[i].empty() {
			return func() {}, fmt.Errorf("inspect: source number %d is empty; make it with Informer, Factory, Queue or Replica, of something that is not nil", i+1)
		}
	}
	added := make([]*Source, len(sources))
	// Copies, one per call: the caller may change its slice, and a source that is added
	// twice is removed by the call that added it.
	for i, s := range sources {
		added[i] = &s
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.shown = append(h.shown, added...)
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.shown = slices.DeleteFunc(h.shown, func(s *Source) bool { return slices.Contains(added, s) })
	}, nil
}

// ServeHTTP answers with the state of everything shown. The format is that of the
// parameter format (html, text or json), else what the header Accept prefers, else
// text. With the parameter key, such as ?key=default/web, it explains that key instead:
// what the caches and queues have of it, what happened to it, and why it is not
// processed. Whatever the path is, it answers the same.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Cache-Control", "no-store") // what it says is true now, and then no more
	// A browser that guesses the type could run an error text as a script.
	header.Set("X-Content-Type-Options", "nosniff")
	// Links of the page must not carry the address of a debugging port to where they
	// lead.
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Content-Security-Policy", contentSecurityPolicy)
	// Before anything else is read from the request: a foreign page must not learn
	// which methods and parameters there are.
	if !h.permits(r.Host) {
		http.Error(w, fmt.Sprintf("Host %q is not served: use a loopback address such as 127.0.0.1 (with kubectl port-forward for a pod), or add the host to inspect.Options.Hosts", r.Host), http.StatusForbidden)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		header.Set("Allow", "GET, HEAD")
		http.Error(w, "this page can only be read: use GET or HEAD", http.StatusMethodNotAllowed)
		return
	}
	asked, err := parse(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	// Written to memory first: an error can still change the status, and a client that
	// reads slowly holds up nothing.
	var body bytes.Buffer
	shown := h.sources()
	report := h.report(r, shown)
	if asked.explain {
		e := h.explain(report, shown, asked.key)
		if name, ok := strings.CutPrefix(asked.key, "/"); ok && name != "" && !e.known() { // as a log prints what is in no namespace
			e = h.explain(report, shown, name)
		}
		err = asked.format.explain(&body, e)
	} else {
		err = asked.format.write(&body, report)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	header.Set("Content-Type", asked.format.contentType)
	// The same URL has three answers, chosen by this header.
	header.Set("Vary", "Accept")
	// HEAD gets the same headers without the body (RFC 9110, section 9.3.2).
	if r.Method == http.MethodGet {
		_, _ = w.Write(body.Bytes()) // a client that has gone needs no answer
	}
}

// sources returns what is shown. Sources are asked without mu: each takes locks of its
// own, and Add must not wait for them.
func (h *Handler) sources() []*Source {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.shown)
}

// report asks everything shown how it is. Two requests at once do the work twice.
func (h *Handler) report(r *http.Request, shown []*Source) *report {
	report := newReport(shown, &h.opts)
	// Appended after sorting. It is a note, and the last of all kinds.
	if p, exposed := h.exposed(r); exposed {
		report.Problems = append(report.Problems, p)
	}
	return report
}
