package inspect_test

import (
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/health"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/inspect"
	"github.com/informerkit/informerkit/reflector"
	"github.com/informerkit/informerkit/workqueue"
	"github.com/informerkit/informerkit/workqueue/history"
)

var update = flag.Bool("update", false, "write the golden files")

func TestMain(m *testing.M) {
	flag.Parse()
	goleak.VerifyTestMain(m)
}

type key = types.NamespacedName

// seen is the condition of a parked item.
var seen = stubCondition("informer pods has seen prod/written at version 4712")

type stubCondition string

func (stubCondition) Register(func()) (cancel func()) { return nil }
func (s stubCondition) String() string                { return string(s) }

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

func configMap(name, secret string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Data:       map[string]string{"secret": secret},
	}
}

// newInformer returns an informer of the server's ConfigMaps.
func newInformer(t *testing.T, server *informertest.Server, opts informer.Options[*corev1.ConfigMap]) *informer.Informer[*corev1.ConfigMap] {
	t.Helper()
	source, err := reflector.NewResource[*corev1.ConfigMap](server.Config(), configMaps, reflector.ResourceOptions{})
	require.NoError(t, err)
	inf, err := informer.New(source, opts)
	require.NoError(t, err)
	return inf
}

func newHandler(t *testing.T, show ...inspect.Source) *inspect.Handler {
	t.Helper()
	h, err := inspect.New(inspect.Options{Show: show})
	require.NoError(t, err)
	return h
}

// ask sends a request to h.
func ask(h http.Handler, method, target string, header http.Header) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	r.Host = "localhost:6060"
	for name, values := range header {
		r.Header[name] = values
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// page returns the page, textOf the text, jsonOf the JSON.
func page(t *testing.T, h http.Handler) string {
	t.Helper()
	w := ask(h, http.MethodGet, "/debug/informers", http.Header{"Accept": {"text/html"}})
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	return w.Body.String()
}

func textOf(t *testing.T, h http.Handler) string {
	t.Helper()
	w := ask(h, http.MethodGet, "/debug/informers", nil)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	return w.Body.String()
}

func jsonOf(t *testing.T, h http.Handler) (a answer) {
	t.Helper()
	w := ask(h, http.MethodGet, "/?format=json", nil)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &a))
	return a
}

// answer is what these tests read of the JSON, as a client might.
type answer struct {
	Version   int
	Problems  []struct{ Severity, Kind, Part, Sentence, Detail, Remedy string }
	Informers []struct {
		Name            string
		Synced, Stopped bool
		Objects         int
		Sources         []struct {
			Namespace, State string
			LastError        *struct{ Class, Message string }
			Quarantined      int
			Quarantine       []struct{ Item, Class string }
		}
		Handlers []struct{ Name string }
	}
	Queues []struct {
		Name                 string
		ShuttingDown         bool
		LongestQueuedSeconds float64
		PriorityClasses      []struct{ MaxWaitSeconds float64 }
		Failures             struct {
			Shown []struct{ Item, Message string }
		}
		QueuedItems, RunningItems, DelayedItems struct {
			Shown   []struct{ Item, QueuedSince string }
			LeftOut int
		}
	}
}

func (a answer) informers() (names []string) {
	for _, i := range a.Informers {
		names = append(names, i.Name)
	}
	return names
}

func (a answer) queues() (names []string) {
	for _, q := range a.Queues {
		names = append(names, q.Name)
	}
	return names
}

// stubInformer and stubQueue return what the test sets.
type stubInformer informer.Health

func (s stubInformer) Health() informer.Health { return informer.Health(s) }

// stubReplica is a replica in the state that the test sets.
type stubReplica health.Replica

func (s stubReplica) Health() health.Replica { return health.Replica(s) }

// recalling returns a recorder that knows failures of a queue, and that three items were done.
func recalling(queue string, failures ...history.Failure) *history.Recorder {
	r := history.New(history.Options{})
	observe := history.Queue[key](r, queue)
	for _, f := range failures {
		item := key(f.Key)
		observe(workqueue.Observation[key]{Step: workqueue.StepOutcome, Item: item, Time: f.Time, Attempt: f.Attempts, Action: f.Action, Err: f.Err})
		if !f.NextAttempt.IsZero() {
			observe(workqueue.Observation[key]{Step: workqueue.StepRetry, Item: item, Time: f.Time, Duration: f.NextAttempt.Sub(f.Time)})
		}
	}
	for range 3 {
		observe(workqueue.Observation[key]{Step: workqueue.StepDone, Item: key{Name: "done"}, Time: time.Now(), Processed: true})
	}
	return r
}

// newHandlerWith is newHandler with a history.
func newHandlerWith(t *testing.T, r *history.Recorder, show ...inspect.Source) *inspect.Handler {
	t.Helper()
	h, err := inspect.New(inspect.Options{History: r, Show: show})
	require.NoError(t, err)
	return h
}

type stubQueue[T comparable] struct {
	workqueue.Inspection[T]
	limit *int
}

func (s stubQueue[T]) Inspect(limit int, _ ...T) workqueue.Inspection[T] {
	if s.limit != nil {
		*s.limit = limit
	}
	return s.Inspection
}

// epoch is when the clock of a bubble begins.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
