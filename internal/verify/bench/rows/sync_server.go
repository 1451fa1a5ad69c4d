package rows

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/internal/verify/scripted"
)

// ServeFlag runs the command as a server of pods; see [ServePods].
const ServeFlag = "serve-pods"

// ServePods is an API server of n pods, read only, in a process of its own: it
// prints its address and serves until in ends. The encoding of its responses is the
// first one of the request that it supports.
//
// Its responses are encoded beforehand, so that only the reading is measured.
// A server without WatchList rejects it as an old one does.
func ServePods(n int, watchList bool, in io.Reader, out io.Writer) error {
	s := &podServer{n: n, relist: make(chan struct{})}
	script := &scripted.Server{List: s.list, WatchList: s.initial, Watch: s.watch}
	if !watchList {
		script.WatchList = unsupported
	}
	mux := http.NewServeMux()
	mux.Handle("GET /api/v1/pods", script)
	mux.HandleFunc("POST /relist", s.expire)
	return serve(mux, in, out)
}

// serve prints the address of a server on a port of this machine, and returns when
// in ends. The server ends with the process.
func serve(h http.Handler, in io.Reader, out io.Writer) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	fmt.Fprintln(out, "http://"+listener.Addr().String())
	_, err = io.Copy(io.Discard, in)
	return err
}

// podServer holds the answers of a server of pods.
type podServer struct {
	n int

	mu      sync.Mutex
	relist  chan struct{} // closed when watches are to expire
	changed bool          // whether one in a hundred has another version by now
	bodies  map[string][]byte
}

var encodings = sync.OnceValue(func() map[bool]*encoding {
	return map[bool]*encoding{false: newJSONEncoding(), true: newProtobufEncoding()}
})

// encodingFor returns the encoding that a client asks for first.
func encodingFor(r *http.Request) *encoding {
	return encodings()[strings.Contains(r.Header.Get("Accept"), "protobuf")]
}

// beginWatch sends the head of the answer to a watch.
func (e *encoding) beginWatch(w http.ResponseWriter) {
	w.Header().Set("Content-Type", e.contentType)
	if e.contentType != "application/json" {
		w.Header().Set("Content-Type", e.contentType+";stream=watch")
	}
}

// list answers a list with all pods.
func (s *podServer) list(w http.ResponseWriter, r *http.Request, _ int) {
	enc := encodingFor(r)
	w.Header().Set("Content-Type", enc.contentType)
	_, _ = w.Write(s.body(enc, "list"))
}

// body makes, or finds, the answer to a list or the initial events of a watch.
func (s *podServer) body(enc *encoding, what string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := fmt.Sprint(enc.contentType, what, s.changed)
	if b, ok := s.bodies[name]; ok {
		return b
	}
	t := enc.pod
	if what == "events" {
		t = enc.event
	}
	all := make([]byte, 0, s.n*(len(t.encoded)+8))
	items := make([][]byte, s.n)
	for i := range items {
		start := len(all)
		all = t.appendPod(all, i, s.changed && i%100 == 0)
		items[i] = all[start:]
	}
	if what == "list" {
		all = enc.list(items)
	} else {
		end := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{
			ResourceVersion: listVersion, Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"},
		}}
		all = append(all, enc.frame("BOOKMARK", end)...)
	}
	s.bodies = map[string][]byte{name: all} // the one before is not asked for again
	return all
}

// initial answers a watch with the initial events, and then like watch.
func (s *podServer) initial(w http.ResponseWriter, r *http.Request, n int) {
	enc := encodingFor(r)
	enc.beginWatch(w)
	_, _ = w.Write(s.body(enc, "events"))
	s.watch(w, r, n)
}

// watch answers a watch with nothing until everything expires.
func (s *podServer) watch(w http.ResponseWriter, r *http.Request, _ int) {
	enc := encodingFor(r)
	enc.beginWatch(w)
	_ = http.NewResponseController(w).Flush()
	s.mu.Lock()
	expired := s.relist
	s.mu.Unlock()
	select {
	case <-r.Context().Done():
	case <-expired:
		_, _ = w.Write(enc.frame("ERROR", gone()))
	}
}

// expire ends the present watches, and changes one pod in a hundred.
func (s *podServer) expire(http.ResponseWriter, *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed = true
	close(s.relist)
	s.relist = make(chan struct{})
}

// gone is the object of the event with which a watch expires.
func gone() *metav1.Status {
	return &metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
		Code: http.StatusGone, Reason: metav1.StatusReasonExpired, Message: "too old resource version",
	}
}

// unsupported is the answer of a server without WatchList.
func unsupported(w http.ResponseWriter, _ *http.Request, _ int) {
	scripted.WriteStatus(w, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid,
		"sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled")
}

// runningServer is a server of pods in a process of its own.
type runningServer struct {
	url   string
	cmd   *exec.Cmd
	stdin io.Closer // the server ends when it is closed, so also with this process
}

func startServer(n int, watchList bool) *runningServer {
	return startServerWith(fmt.Sprintf("-%s=%d", ServeFlag, n), fmt.Sprintf("-watchlist=%t", watchList))
}

func startServerWith(flags ...string) *runningServer {
	cmd := exec.Command(must(os.Executable()), flags...)
	cmd.Stderr = os.Stderr
	s := &runningServer{cmd: cmd, stdin: must(cmd.StdinPipe())}
	out := must(cmd.StdoutPipe())
	check(cmd.Start())
	s.url = strings.TrimSpace(must(bufio.NewReader(out).ReadString('\n')))
	return s
}

func (s *runningServer) stop() {
	s.stdin.Close()
	check(s.cmd.Wait())
}
