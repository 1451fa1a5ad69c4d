package browser_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/inspect"
	"github.com/informerkit/informerkit/reflector"
	"github.com/informerkit/informerkit/workqueue"
	"github.com/informerkit/informerkit/workqueue/history"
)

type key = types.NamespacedName

// scene is a program whose page is looked at. Its functions are called in a bubble, in
// which the clock stands still: the page is the same each time.
type scene struct {
	name  string
	query string
	show  func(ago func(time.Duration) time.Time) []inspect.Source
	// play, if set, does things before, and returns what has recorded them.
	play func() *history.Recorder
}

// forbiddenScene is one that tests name.
var forbiddenScene = scene{name: "forbidden", show: forbidden}

// scenes are the pages of the pictures.
var scenes = []scene{
	{name: "healthy", show: healthy},
	forbiddenScene,
	{name: "failing", show: failing, play: threeFail},
	{name: "explained", query: "&key=shop/web", show: explained, play: webFails},
}

// serve serves the page of a scene as it was when it was made.
func (s scene) serve(t *testing.T) (url string) {
	t.Helper()
	var page *httptest.ResponseRecorder
	synctest.Test(t, func(t *testing.T) {
		// Later than midnight, so that the times on the page have digits.
		time.Sleep(10*time.Hour + 2*time.Minute + 3*time.Second)
		var recorder *history.Recorder
		if s.play != nil {
			recorder = s.play()
		}
		now := time.Now()
		h, err := inspect.New(inspect.Options{History: recorder, Show: s.show(func(d time.Duration) time.Time { return now.Add(-d) })})
		require.NoError(t, err)
		page = httptest.NewRecorder()
		h.ServeHTTP(page, httptest.NewRequest(http.MethodGet, "http://127.0.0.1/debug/informers?format=html"+s.query, nil))
		require.Equal(t, http.StatusOK, page.Code, page.Body)
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for name, values := range page.Header() {
			w.Header()[name] = values
		}
		_, _ = w.Write(page.Body.Bytes())
	}))
	t.Cleanup(server.Close)
	return server.URL + "/debug/informers"
}

// stubInformer and stubQueue are what they say.
type stubInformer informer.Health

func (s stubInformer) Health() informer.Health { return informer.Health(s) }

type stubQueue workqueue.Inspection[key]

func (s stubQueue) Inspect(int, ...key) workqueue.Inspection[key] {
	return workqueue.Inspection[key](s)
}

func show(inf informer.Health) inspect.Source { return inspect.Informer(stubInformer(inf)) }

func pod(name string) key { return key{Namespace: "shop", Name: name} }

// pods is an informer of pods that is well, with a handler.
func pods(ago func(time.Duration) time.Time) inspect.Source {
	return show(informer.Health{
		Name: "pods", Synced: true, SyncedAfter: 412 * time.Millisecond, Objects: 5204, ResourceVersion: "812734", Events: 18733,
		Sources: []informer.SourceHealth{{Reflector: reflector.Health{
			State: reflector.StateWatching, Since: ago(6 * time.Minute), Synced: true, LastSync: ago(26 * time.Hour), LastEvent: ago(1200 * time.Millisecond), ResourceVersion: "812734",
			WatchLists: 1, Watches: 212, Reconnects: map[reflector.ErrorClass]int{"closed": 211},
		}}},
		Handlers: []informer.HandlerHealth{{Name: "enqueue-owner", Synced: true, Delivered: 23937}},
	})
}

// replicasets is a queue that is well.
func replicasets(ago func(time.Duration) time.Time) stubQueue {
	return stubQueue{
		Name:            "replicasets",
		Stats:           workqueue.Stats{Queued: 2, Running: 1, Delayed: 1, Added: 9122, Retried: 3, UnfinishedWork: 8 * time.Millisecond, LongestRunning: 8 * time.Millisecond},
		PriorityClasses: []workqueue.PriorityClassInspection{{Queued: 2, QueuedSince: ago(14 * time.Millisecond)}},
		Timed:           true,
		Running:         []workqueue.Item[key]{{Item: pod("cart"), RunningSince: ago(8 * time.Millisecond)}},
		Queued:          []workqueue.Item[key]{{Item: pod("checkout"), QueuedSince: ago(14 * time.Millisecond)}, {Item: pod("catalogue"), QueuedSince: ago(3 * time.Millisecond)}},
		Delayed:         []workqueue.Item[key]{{Item: pod("certificate-renewal"), DelayedUntil: ago(-40 * time.Minute)}},
	}
}

func healthy(ago func(time.Duration) time.Time) []inspect.Source {
	return []inspect.Source{pods(ago), inspect.Queue(replicasets(ago))}
}

// forbidden is a controller that may not list: the longest text that a server sends.
func forbidden(ago func(time.Duration) time.Time) []inspect.Source {
	err := errors.New(`cannot list replicasets.apps at https://kubernetes.default.svc:443: replicasets.apps is forbidden: ` +
		`User "system:serviceaccount:shop-production-europe-west:replicaset-controller" cannot list resource "replicasets" in API group "apps" at the cluster scope`)
	idle := replicasets(ago)
	idle = stubQueue{Name: idle.Name, PriorityClasses: []workqueue.PriorityClassInspection{{}}, Timed: true}
	return []inspect.Source{pods(ago), inspect.Queue(idle), show(informer.Health{
		Name: "replicasets.apps",
		Sources: []informer.SourceHealth{{Reflector: reflector.Health{
			State: reflector.StateDegraded, Since: ago(3 * time.Second), ConsecutiveFailures: 7, DegradedSince: ago(73 * time.Second), NextAttempt: ago(-22 * time.Second),
			LastError: err, LastErrorClass: reflector.ClassForbidden, LastErrorTime: ago(3 * time.Second), Lists: 7,
		}}},
		Handlers: []informer.HandlerHealth{{Name: "enqueue"}},
	})}
}

const longName = "a-deployment-whose-name-is-as-long-as-names-may-be-so-that-it-has-to-be-wrapped-somewhere-7d4b9c6f5"

// fails notes a failure of an item of the queue replicasets.
func fails(observe workqueue.Observer[key], name string, attempts int, ago, next time.Duration, err error) {
	o := workqueue.Observation[key]{
		Step: workqueue.StepOutcome, Item: pod(name), Time: time.Now().Add(-ago), Attempt: attempts, Action: workqueue.Retried, Err: err,
	}
	if next == 0 {
		o.Action = workqueue.Dropped
	}
	observe(o)
	if next > 0 {
		o.Step, o.Duration = workqueue.StepRetry, ago+next
		observe(o)
	}
}

// threeFail records the failures of the queue replicasets, and what it has done in five minutes.
func threeFail() *history.Recorder {
	r := history.New(history.Options{})
	observe := history.Queue[key](r, "replicasets")
	for _, n := range []int{12, 14, 9, 22, 31, 28, 17, 12, 11, 13, 12, 0, 0, 4, 8, 12, 14, 16, 12, 11, 15, 48, 62, 40, 21, 12, 11, 12, 9, 4} {
		time.Sleep(history.ThroughputPeriod)
		for range n {
			observe(workqueue.Observation[key]{Step: workqueue.StepDone, Item: pod("done"), Time: time.Now(), Processed: true})
		}
	}
	fails(observe, "web", 14, 4*time.Second, 38*time.Second, errors.New(`creating a pod: Post "https://10.0.0.1/api/v1/namespaces/shop/pods": admission webhook "quota.example.com" denied the request: exceeded quota: compute, requested: limits.cpu=4, used: limits.cpu=62, limited: limits.cpu=64`))
	fails(observe, longName, 3, 9*time.Second, 2*time.Second, errors.New("no such image"))
	fails(observe, "legacy", 1, 11*time.Minute, 0, workqueue.Terminal(errors.New("the selector is empty")))
	return r
}

// failing is a controller with trouble in its queue, and keys of all lengths.
func failing(ago func(time.Duration) time.Time) []inspect.Source {
	q := replicasets(ago)
	q.Stats.Queued, q.Stats.Delayed, q.Stats.Parked, q.Stats.Retried, q.Stats.Dropped, q.Stats.ParkTimeouts = 41, 2, 1, 214, 1, 2
	long := pod(longName)
	q.PriorityClasses = []workqueue.PriorityClassInspection{{Queued: 1, Groups: 1, QueuedSince: ago(14 * time.Millisecond)}, {MaxWait: 30 * time.Second, Queued: 40, Groups: 12, QueuedSince: ago(95 * time.Second)}}
	for i := range 18 {
		q.Queued = append(q.Queued, workqueue.Item[key]{Item: pod(fmt.Sprint("bulk-", i)), PriorityClass: 1, Group: "shop", QueuedSince: ago(95*time.Second - time.Duration(i)*time.Second)})
	}
	q.Delayed = []workqueue.Item[key]{{Item: long, Retries: 3, DelayedUntil: ago(-2 * time.Second)}, {Item: pod("web"), Retries: 14, DelayedUntil: ago(-38 * time.Second)}}
	q.Parked = []workqueue.Item[key]{{Item: pod("written"), ParkedUntil: ago(-9 * time.Second)}}
	return []inspect.Source{pods(ago), inspect.Queue(q)}
}

// webFails records a life of shop/web that ends badly.
func webFails() *history.Recorder {
	r := history.New(history.Options{})
	defer func() {
		fails(history.Queue[key](r, "replicasets"), "web", 14, 4*time.Second, 38*time.Second, errors.New("exceeded quota: compute"))
	}()
	web := history.Key{Namespace: "shop", Name: "web"}
	handler, queue := &history.Part{Name: "enqueue-owner", Informer: "pods", Kind: "Pod"}, &history.Part{Name: "replicasets"}
	note := func(after time.Duration, what history.What, fill func(*history.Record)) {
		time.Sleep(after)
		record := history.Record{What: what, Key: web, Part: queue}
		if fill != nil {
			fill(&record)
		}
		if what == history.Failed {
			r.NoteError(time.Now(), &record, errors.New(`creating a pod: Post "https://10.0.0.1/api/v1/namespaces/shop/pods": admission webhook "quota.example.com" denied the request: exceeded quota: compute, requested: limits.cpu=4, used: limits.cpu=62, limited: limits.cpu=64`))
			return
		}
		r.Note(time.Now(), &record)
	}
	because := func(old, is uint64) func(*history.Record) {
		return func(record *history.Record) {
			record.Set(&history.Cause{
				Handler: handler, Object: history.Key{Namespace: "shop", Name: "web-x7k2p"},
				Change: history.Change{Type: uint8(informer.Updated), Origin: uint8(informer.Watch), Old: old, New: is},
			})
		}
	}
	note(0, history.Added, because(8127, 8130))
	note(4*time.Millisecond, history.Collapsed, because(8130, 8131))
	note(8*time.Millisecond, history.HandedOut, func(record *history.Record) { record.Duration = 12 * time.Millisecond })
	note(230*time.Millisecond, history.Failed, func(record *history.Record) { record.Duration, record.Attempt = 230*time.Millisecond, 14 })
	note(0, history.Retried, func(record *history.Record) { record.Duration, record.Attempt = 42*time.Second, 14 })
	time.Sleep(4 * time.Second)
	return r
}

// explained is the controller in which shop/web fails.
func explained(ago func(time.Duration) time.Time) []inspect.Source {
	q := replicasets(ago)
	return []inspect.Source{pods(ago), inspect.Queue(oneItem{q, workqueue.Item[key]{Item: pod("web"), Retries: 14, DelayedUntil: ago(-38 * time.Second)}})}
}

// oneItem is a queue that can be asked for one item.
type oneItem struct {
	stubQueue
	item workqueue.Item[key]
}

func (q oneItem) Inspect(limit int, only ...key) workqueue.Inspection[key] {
	if len(only) == 0 {
		return q.stubQueue.Inspect(limit)
	}
	return workqueue.Inspection[key]{Name: q.Name, PriorityClasses: q.PriorityClasses, Delayed: []workqueue.Item[key]{q.item}}
}
