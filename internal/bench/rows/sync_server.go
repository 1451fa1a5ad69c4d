package rows

import (
	"bufio"
	"encoding/json"
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
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := &podServer{n: n, watchList: watchList, relist: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/pods", s.pods)
	mux.HandleFunc("POST /relist", s.expire)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }() // ends with the process
	fmt.Fprintln(out, "http://"+listener.Addr().String())
	_, err = io.Copy(io.Discard, in)
	return err
}

type podServer struct {
	n         int
	watchList bool

	mu      sync.Mutex
	relist  chan struct{} // closed when watches are to expire
	changed bool          // whether one in a hundred has another version by now
	bodies  map[string][]byte
}

func (s *podServer) pods(w http.ResponseWriter, r *http.Request) {
	enc := encodings()[strings.Contains(r.Header.Get("Accept"), "protobuf")]
	q := r.URL.Query()
	switch {
	case q.Get("watch") == "":
		w.Header().Set("Content-Type", enc.contentType)
		_, _ = w.Write(s.body(enc, "list"))
	case q.Get("sendInitialEvents") == "true" && !s.watchList:
		refuse(w)
	default:
		s.watch(w, r, enc, q.Get("sendInitialEvents") == "true")
	}
}

var encodings = sync.OnceValue(func() map[bool]*encoding {
	return map[bool]*encoding{false: newJSONEncoding(), true: newProtobufEncoding()}
})

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

// watch sends the initial events if they are asked for, and then nothing more
// until everything expires.
func (s *podServer) watch(w http.ResponseWriter, r *http.Request, enc *encoding, initial bool) {
	w.Header().Set("Content-Type", enc.contentType+";stream=watch")
	if enc.contentType == "application/json" {
		w.Header().Set("Content-Type", enc.contentType)
	}
	if initial {
		_, _ = w.Write(s.body(enc, "events"))
	}
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

func gone() *metav1.Status {
	return &metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
		Code: http.StatusGone, Reason: metav1.StatusReasonExpired, Message: "too old resource version",
	}
}

func refuse(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusUnprocessableEntity)
	_ = json.NewEncoder(w).Encode(&metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
		Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid,
		Message: "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled",
	})
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
