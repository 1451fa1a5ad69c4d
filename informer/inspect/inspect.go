package inspect

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"sync"
)

// DefaultMaxItems is how many items of a queue are shown of each kind (waiting,
// delayed, running) if the options do not say otherwise.
const DefaultMaxItems = 20

// Options configures a [Handler]. The zero value is good: it shows nothing yet.
type Options struct {
	// Show is what to show from the beginning; see also [Handler.Add].
	Show []Source
	// MaxItems is how many items of a queue are shown of each kind, at most. 0 is
	// [DefaultMaxItems]. It also bounds the time for which a request locks the
	// queue.
	MaxItems int
}

// Handler is an [http.Handler] that shows what it was given, as a page or as
// JSON. Make one with [New]. All methods may be called concurrently.
type Handler struct {
	maxItems int

	mu    sync.Mutex
	shown []*Source // pointers, so that entries can be compared
}

// New returns a handler. It fails if the options are impossible or a source is
// of something that is nil.
func New(opts Options) (*Handler, error) {
	if opts.MaxItems < 0 {
		return nil, fmt.Errorf("inspect: MaxItems is %d; use 0 for the default of %d, or a positive number", opts.MaxItems, DefaultMaxItems)
	}
	h := &Handler{maxItems: opts.MaxItems}
	if h.maxItems == 0 {
		h.maxItems = DefaultMaxItems
	}
	_, err := h.Add(opts.Show...)
	return h, err
}

// Add shows more, until remove is called. A request that is being answered may
// or may not show it. Calling remove again does nothing.
//
// The handler keeps what it shows alive: remove an informer or a queue that ends
// before the program does. A factory takes care of its informers.
func (h *Handler) Add(sources ...Source) (remove func(), err error) {
	for i := range sources {
		if sources[i].empty() {
			return func() {}, fmt.Errorf("inspect: source number %d is empty; make it with Informer, Factory or Queue, of something that is not nil", i+1)
		}
	}
	added := make([]*Source, len(sources))
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

// ServeHTTP answers with the state of everything shown: a page, or JSON if the
// query is format=json or the header Accept prefers it. Whatever the path is, it
// answers the same.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "this page can only be read: use GET or HEAD", http.StatusMethodNotAllowed)
		return
	}
	format, err := formatOf(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	// Written to memory first: an error can still change the status, and a client that
	// reads slowly holds up nothing.
	var body bytes.Buffer
	if err := format.write(&body, h.report()); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	header := w.Header()
	header.Set("Content-Type", format.contentType)
	header.Set("Cache-Control", "no-store") // what it says is true now, and then no more
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Content-Security-Policy", "default-src 'none'")
	if r.Method == http.MethodGet {
		_, _ = w.Write(body.Bytes()) // a client that has gone needs no answer
	}
}

// report asks everything shown how it is.
func (h *Handler) report() *report {
	h.mu.Lock()
	// Sources are asked without mu: each takes locks of its own, and Add must not wait
	// for them.
	shown := slices.Clone(h.shown)
	h.mu.Unlock()
	return newReport(shown, h.maxItems)
}
