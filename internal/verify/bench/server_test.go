package bench

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/informerkit/informerkit/internal/verify/measure"
	"github.com/informerkit/informerkit/internal/verify/scripted"
)

// Served is what a server in a separate process serves.
type Served struct {
	// Collection is the key of one of the collections.
	Collection          string
	Protobuf, WatchList bool
}

// String is the name of a benchmark with it.
func (s Served) String() string {
	encoding, begin := "json", "list"
	if s.Protobuf {
		encoding = "protobuf"
	}
	if s.WatchList {
		begin = "watchlist"
	}
	return "encoding=" + encoding + "/by=" + begin
}

// objectServer is the API server of one collection, read only. Its responses are encoded
// beforehand, so that only the reading is measured.
type objectServer struct {
	Served
	of    collection
	as    encoding
	first k8sruntime.Object
	items [][]byte

	mu      sync.Mutex
	body    []byte        // of a list, or the initial events
	changed chan struct{} // closed by Relist
	begin   chan struct{} // closed by Burst
}

// process is an API server of one collection in its own process.
type process struct{ *objectServer }

// Begin replies the address of the server.
func (p *process) Begin(what Served, url *string) error {
	c, ok := collections[what.Collection]
	if !ok {
		return fmt.Errorf("there are no objects %q", what.Collection)
	}
	p.objectServer = &objectServer{
		Served: what, of: c, as: encodingOf(what.Protobuf), first: c.object(0), items: make([][]byte, c.n),
		changed: make(chan struct{}), begin: make(chan struct{}),
	}
	onAllCores(c.n, func(i int) { p.items[i] = p.as.object(c.object(i)) })
	p.encode()
	mux := http.NewServeMux()
	mux.Handle("GET "+c.path(), &scripted.Server{List: p.list, WatchList: p.watchList, Watch: p.watch})
	*url = httptest.NewServer(mux).URL // it ends with the process
	return nil
}

// Burst lets a watch send 30,000 changes as fast as they can be read.
func (p *process) Burst(measure.None, *measure.None) error {
	close(p.begin)
	return nil
}

// Relist ends the present watches, and changes one object in a hundred.
func (p *process) Relist(measure.None, *measure.None) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := 0; i < p.of.n; i += 100 {
		p.items[i] = later(p.items[i], i, 10_000_000)
	}
	p.encode()
	close(p.changed)
	p.changed = make(chan struct{})
	return nil
}

// encode makes the answer to a list, or the initial events.
func (s *objectServer) encode() {
	if !s.WatchList {
		s.body = s.as.list(s.first, s.items)
		return
	}
	for _, item := range s.items {
		s.body = append(s.body, s.event("ADDED", item)...)
	}
	end := s.first.DeepCopyObject()
	end.(metav1.Object).SetResourceVersion(listVersion)
	end.(metav1.Object).SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	s.body = append(s.body, s.event("BOOKMARK", s.as.object(end))...)
}

func (s *objectServer) event(eventType string, object []byte) []byte {
	return s.as.event(eventType, s.first.GetObjectKind().GroupVersionKind().Kind, object)
}

// later is an encoded typical object i in a later version.
func later(object []byte, i, by int) []byte {
	return bytes.Replace(object, []byte(version(i)), []byte(version(i+by)), 1)
}

// answer begins an answer, unless the client asks for another encoding first.
func (s *objectServer) answer(w http.ResponseWriter, r *http.Request, contentType string) bool {
	if strings.Contains(r.Header.Get("Accept"), "protobuf") != s.Protobuf {
		http.Error(w, "this server has another encoding", http.StatusNotAcceptable)
		return false
	}
	w.Header().Set("Content-Type", contentType)
	return true
}

func (s *objectServer) list(w http.ResponseWriter, r *http.Request, _ int) {
	if s.answer(w, r, s.as.contentType) {
		s.mu.Lock()
		defer s.mu.Unlock()
		_, _ = w.Write(s.body)
	}
}

// watchList answers with the initial events, and then like watch. A server without
// WatchList rejects it as an old one does.
func (s *objectServer) watchList(w http.ResponseWriter, r *http.Request, n int) {
	if !s.WatchList {
		scripted.WriteStatus(w, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid,
			"sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled")
		return
	}
	if s.answer(w, r, s.as.watchType) {
		_, _ = w.Write(s.body)
		s.watch(w, r, n)
	}
}

// watch sends nothing until everything expires, or a burst begins.
func (s *objectServer) watch(w http.ResponseWriter, r *http.Request, _ int) {
	if !s.answer(w, r, s.as.watchType) {
		return
	}
	_ = http.NewResponseController(w).Flush()
	s.mu.Lock()
	expired := s.changed
	s.mu.Unlock()
	select {
	case <-r.Context().Done():
	case <-expired:
		gone := &metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
			Code: http.StatusGone, Reason: metav1.StatusReasonExpired, Message: "too old resource version",
		}
		_, _ = w.Write(s.as.event("ERROR", "Status", s.as.object(gone)))
	case <-s.begin:
		for i := range burst {
			// Event by event, as API servers write them.
			j := i % s.of.n
			_, _ = w.Write(s.event("MODIFIED", later(s.items[j], j, 1+i)))
		}
		_ = http.NewResponseController(w).Flush()
		scripted.Hang(r)
	}
}

// runningServer is a server in a process of its own.
type runningServer struct {
	url     string
	process *measure.Process
}

func startServer(what Served) runningServer {
	process := must(measure.Start(must(measure.Self(serveFlag))))
	return runningServer{must(measure.Call[string](context.Background(), process, "Begin", what)), process}
}

// do calls a method, such as Relist.
func (s runningServer) do(method string) {
	must(measure.Call[measure.None](context.Background(), s.process, method, measure.None(true)))
}

func (s runningServer) stop() { check(s.process.End()) }

// onAllCores calls f for 0 to n-1 on all cores.
func onAllCores(n int, f func(i int)) {
	const atOnce = 64
	var next atomic.Int64
	var working sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		working.Go(func() {
			for begin := 0; begin < n; {
				begin = int(next.Add(atOnce)) - atOnce
				for i := begin; i < min(begin+atOnce, n); i++ {
					f(i)
				}
			}
		})
	}
	working.Wait()
}
