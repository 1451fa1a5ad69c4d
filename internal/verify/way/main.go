// Command way lets watch events pass from an HTTP server to a worker, one after the other,
// through all five packages: what an event passes is the code that a reader has to know.
//
//	go -C internal/verify/tools run ./budget -way
//
// builds it with coverage counters, runs it with few and with more events, and counts
// files, functions and calls of one event by the difference.
package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/reflector"
	"github.com/informerkit/informerkit/workqueue"
)

func main() {
	events := flag.Int("events", 100, "how many `events` pass")
	protobuf := flag.Bool("protobuf", false, "in protobuf instead of JSON")
	flag.Parse()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	if err := run(*events, *protobuf); err != nil {
		fmt.Fprintln(os.Stderr, "way:", err)
		os.Exit(1)
	}
}

// run starts a controller and lets the events pass, each when the one before has reached the worker.
func run(events int, protobuf bool) error {
	s := &server{protobuf: protobuf, next: make(chan struct{})}
	api := httptest.NewServer(s)
	defer api.Close()
	options := reflector.ResourceOptions{Encoding: reflector.EncodingJSON}
	if protobuf {
		options.Encoding = reflector.EncodingProtobuf
	}
	source, err := reflector.NewResource[*corev1.Pod](&rest.Config{Host: api.URL}, corev1.SchemeGroupVersion.WithResource("pods"), options)
	if err != nil {
		return err
	}
	pods, err := informer.New(source, informer.Options[*corev1.Pod]{})
	if err != nil {
		return err
	}
	queue := workqueue.NewRateLimiting(nil, workqueue.Options[types.NamespacedName]{})
	if _, err := informer.EnqueueKeysOf(pods, queue); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- pods.Run(ctx) }()
	reconciled := make(chan error)
	go func() {
		_ = workqueue.Process(ctx, queue, 1, func(_ context.Context, key types.NamespacedName) error {
			_, err := pods.Lister().Get(key)
			reconciled <- err
			return nil
		})
	}()
	for range 1 + events { // the first is that of the list
		if err := <-reconciled; err != nil {
			return err
		}
		s.next <- struct{}{}
	}
	if err := <-reconciled; err != nil {
		return err
	}
	cancel()
	return <-stopped
}

// server serves one pod, and a change of it for each value of next.
type server struct {
	protobuf bool
	next     chan struct{}
	version  int
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	switch {
	case query.Get("sendInitialEvents") == "true": // as servers without WatchList do
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnprocessableEntity)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`)
	case query.Get("watch") == "":
		s.list(w)
	default:
		s.watch(w, r)
	}
}

func (s *server) list(w http.ResponseWriter) {
	list := &corev1.PodList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"},
		ListMeta: metav1.ListMeta{ResourceVersion: "1000"},
		Items:    []corev1.Pod{*pod(1000)},
	}
	s.contentType(w, "")
	if s.protobuf {
		_, _ = w.Write(enveloped(list, "PodList"))
		return
	}
	_ = json.NewEncoder(w).Encode(list)
}

func (s *server) watch(w http.ResponseWriter, r *http.Request) {
	s.contentType(w, ";stream=watch")
	flush := http.NewResponseController(w)
	_ = flush.Flush()
	for {
		select {
		case <-s.next:
		case <-r.Context().Done():
			return
		}
		s.version++
		_, _ = w.Write(s.event(pod(1000 + s.version)))
		_ = flush.Flush()
	}
}

func (s *server) contentType(w http.ResponseWriter, parameter string) {
	if s.protobuf {
		w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf"+parameter)
		return
	}
	w.Header().Set("Content-Type", "application/json")
}

// event is a frame of a watch.
func (s *server) event(p *corev1.Pod) []byte {
	if !s.protobuf {
		object, _ := json.Marshal(p)
		return fmt.Appendf(nil, "{\"type\":\"MODIFIED\",\"object\":%s}\n", object)
	}
	event := metav1.WatchEvent{Type: "MODIFIED", Object: runtime.RawExtension{Raw: enveloped(p, "Pod")}}
	body, _ := event.Marshal()
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

// enveloped is an object as API servers send it in protobuf.
func enveloped(o interface{ Marshal() ([]byte, error) }, kind string) []byte {
	raw, _ := o.Marshal()
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: kind}, Raw: raw}
	body, _ := unknown.Marshal()
	return append([]byte("k8s\x00"), body...)
}

func pod(version int) *corev1.Pod {
	return &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "u1", ResourceVersion: fmt.Sprint(version), Labels: map[string]string{"app": "web"}},
	}
}
