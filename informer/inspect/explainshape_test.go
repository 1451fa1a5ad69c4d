package inspect_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/inspect"
	"github.com/informerkit/informerkit/workqueue"
	"github.com/informerkit/informerkit/workqueue/history"
)

// stubCache is an informer with one object.
type stubCache struct {
	stubInformer
	object informer.Object
}

func (s stubCache) Health() informer.Health { return informer.Health(s.stubInformer) }

func (s stubCache) Find(k types.NamespacedName) (informer.Object, bool) {
	if s.object == nil || k.Namespace != s.object.GetNamespace() || k.Name != s.object.GetName() {
		return nil, false
	}
	return s.object, true
}

// oneOfEach has each kind of entry, and each field of an object and of an item.
func oneOfEach(t *testing.T) *inspect.Handler {
	r := recalling("work", history.Failure{
		Key: history.Key{Namespace: "default", Name: "web"}, Attempts: 2, Err: errors.New("no quota"), Action: workqueue.Retried,
		Time: time.Now().Add(-time.Minute), NextAttempt: time.Now().Add(time.Minute),
	})
	web := history.Key{Namespace: "default", Name: "web"}
	handler, queue := &history.Part{Name: "enqueue", Informer: "maps", Kind: "ConfigMap"}, &history.Part{Name: "work"}
	change := history.Change{Type: uint8(informer.Updated), Origin: uint8(informer.Watch), Old: 8127, New: 8130}
	for what := history.Received; what <= history.ParkTimedOut; what++ {
		time.Sleep(time.Second)
		record := history.Record{What: what, Key: web, Part: queue, Duration: 12 * time.Millisecond, Attempt: 1}
		switch what {
		case history.Received, history.Delivered, history.Panicked:
			record.Part = handler
			record.SetChange(&change)
		case history.Refused:
			record.Part, record.Object = handler, history.Key{Name: "GenerationChanged"}
			record.SetChange(&change)
		case history.Added, history.Collapsed, history.AddedAgain, history.AddedParked, history.Rejected:
			record.Set(&history.Cause{Handler: handler, Object: history.Key{Namespace: "default", Name: "web-1"}, Change: change})
			record.Class = 1
		case history.Parked:
			record.Object = history.Key{Name: seen.String()}
		case history.Failed, history.Dropped:
			r.NoteError(time.Now(), &record, errors.New("no quota"))
			continue
		}
		r.Note(time.Now(), &record)
	}
	now := time.Now()
	obj := configMap("web", "hunter2")
	obj.ObjectMeta = metav1.ObjectMeta{
		Namespace: "default", Name: "web", UID: "1-2", ResourceVersion: "8130", Generation: 2, CreationTimestamp: metav1.NewTime(now.Add(-time.Hour)),
		DeletionTimestamp: &metav1.Time{Time: now.Add(-time.Minute)}, Finalizers: []string{"example.com/keep"},
		OwnerReferences: []metav1.OwnerReference{{Kind: "Deployment", Name: "web"}},
		Labels:          map[string]string{"app": "label-value"}, Annotations: map[string]string{"note": "annotation-value"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
	}
	large := configMap("web", strings.Repeat("x", 70_000))
	h, err := inspect.New(inspect.Options{History: r, ShowObjects: true, Show: []inspect.Source{
		inspect.Informer(stubCache{stubInformer{Name: "maps", Synced: true, Sources: []informer.SourceHealth{{Selector: "labels app=web"}}}, obj}),
		inspect.Informer(stubCache{stubInformer{Name: "more", Synced: true}, large}),
		inspect.Informer(stubCache{stubInformer: stubInformer{Name: "none", Synced: true}}),
		inspect.Queue(stubQueue[key]{Inspection: workqueue.Inspection[key]{
			Name: "work", PriorityClasses: []workqueue.PriorityClassInspection{{}, {Queued: 3}},
			Running: []workqueue.Item[key]{{
				PriorityClass: 1, Group: "default", Retries: 2, Again: true, QueuedSince: now.Add(-time.Second), RunningSince: now.Add(-2 * time.Second),
				DelayedUntil: now.Add(time.Minute), ParkedUntil: now.Add(time.Hour), Until: seen,
			}},
		}}),
	}})
	require.NoError(t, err)
	return h
}

func TestShapeOfAnExplanation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := oneOfEach(t)
		for format, file := range map[string]string{"json": "explain.json", "text": "explain.txt", "html": "explain.html"} {
			got := ask(h, http.MethodGet, "/?key=default/web&format="+format, nil).Body.String()
			golden(t, file, got)
			assert.NotContains(t, got, "label-value\",", "nor annotations") // the body has them as "app":"label-value"}
			if format == "json" {
				documented(t, "## The JSON of one key\n", got, "apiVersion", "kind", "data", "metadata", "secret", "app", "note",
					"creationTimestamp", "deletionTimestamp", "name", "namespace", "ownerReferences", "uid", "generation", "labels", "annotations", "finalizers", "resourceVersion")
			}
		}
	})
}

// Promise inspect/8
func TestPromise8BodiesAreShownOnlyIfAskedForAndNeverTheDataOfSecrets(t *testing.T) {
	t.Parallel()
	meta := metav1.ObjectMeta{
		Namespace: "default", Name: "web", Annotations: map[string]string{"kubectl.kubernetes.io/last-applied-configuration": `{"data":{"password":"hunter2"}}`, "a": "b"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "hunter2"}},
	}
	for name, obj := range map[string]informer.Object{
		"typed":            &corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"password": []byte("hunter2")}, StringData: map[string]string{"password": "hunter2"}},
		"with its kind":    &corev1.Secret{TypeMeta: metav1.TypeMeta{Kind: "Secret", APIVersion: "v1"}, ObjectMeta: meta, Data: map[string][]byte{"password": []byte("hunter2")}},
		"a struct of ours": &ours{TypeMeta: metav1.TypeMeta{Kind: "Secret"}, ObjectMeta: meta, Data: "hunter2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := inspect.Informer(stubCache{stubInformer{Name: "secrets", Synced: true}, obj})
			h, err := inspect.New(inspect.Options{Show: []inspect.Source{source}, ShowObjects: true})
			require.NoError(t, err)
			e := explain(t, h, "default/web")
			body := strings.ReplaceAll(string(e.Objects[0].Body), " ", "")
			assert.Contains(t, body, `"a":"b"`)
			assert.NotContains(t, body, "hunter2")
			assert.NotContains(t, body, "aHVudGVyMg", "in base64")
			without := ask(newHandler(t, source), http.MethodGet, "/?format=json&key=default/web", nil).Body.String()
			assert.NotContains(t, without, "body")
			assert.Contains(t, without, `"annotations"`)
		})
	}
}

// ours is a type of the program's own for Secrets.
type ours struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Data              string `json:"data"`
}

func (o *ours) DeepCopyObject() runtime.Object { return o }

func TestErrorsOfTheHistoryAreWithheldAsOthersAre(t *testing.T) {
	t.Parallel()
	r := history.New(history.Options{})
	web := history.Key{Namespace: "default", Name: "web"}
	r.NoteError(time.Now(), &history.Record{What: history.Failed, Key: web, Part: &history.Part{Name: "work"}}, fmt.Errorf("hunter2"))
	h, err := inspect.New(inspect.Options{History: r, HideErrors: true})
	require.NoError(t, err)
	for _, format := range []string{"html", "text", "json"} {
		got := ask(h, http.MethodGet, "/?key=default/web&format="+format, nil).Body.String()
		assert.NotContains(t, got, "hunter2")
		assert.Contains(t, got, "HideErrors is set")
	}
}

func TestKeysThatCannotBeLookedUpAreRefused(t *testing.T) {
	t.Parallel()
	h := newHandler(t)
	for query, why := range map[string]string{
		"key=":                            "the key is empty",
		"key=%20":                         "the key is empty",
		"key=a&key=b":                     "key is given 2 times",
		"key=%ff":                         "not valid UTF-8",
		"key=" + strings.Repeat("x", 513): "the key has 513 bytes; at most 512",
		"key=a&format=xml":                "unknown format",
		"key=a&items=5":                   "unknown parameter",
	} {
		w := ask(h, http.MethodGet, "/?"+query, nil)
		assert.Equal(t, http.StatusBadRequest, w.Code, query)
		assert.Contains(t, w.Body.String(), why)
		assert.Equal(t, "no-store", w.Header().Get("Cache-Control"))
	}
	assert.Equal(t, http.StatusMethodNotAllowed, ask(h, http.MethodPost, "/?key=a", nil).Code)
	assert.Equal(t, "a", explain(t, h, " a ").Key, "pasted with spaces")
}

// Promise inspect/8
func TestPromise8AnExplanationIsBounded(t *testing.T) {
	t.Parallel()
	r := history.New(history.Options{})
	web := history.Key{Namespace: "default", Name: "web"}
	part := &history.Part{Name: "work"}
	for range 4000 {
		r.NoteError(time.Now(), &history.Record{What: history.Failed, Key: web, Part: part}, errors.New(strings.Repeat("long ", 10_000)))
	}
	h, err := inspect.New(inspect.Options{History: r})
	require.NoError(t, err)
	for _, format := range []string{"html", "text", "json"} {
		w := ask(h, http.MethodGet, "/?key=default/web&format="+format, nil)
		assert.Less(t, w.Body.Len(), 600_000, format)
	}
	e := explain(t, h, "default/web")
	assert.Len(t, e.History.Entries, 200)
	assert.Equal(t, 3800, e.History.LeftOut)
}

// What a request may name is arbitrary. No answer has it as markup, or as what controls a
// terminal.
func FuzzKeyOfARequest(f *testing.F) {
	for _, seed := range []string{"default/web", "a", "/", "<script>alert(1)</script>", "\x1b[2J", "a/b/c", strings.Repeat("x", 600), "ü\u202e/\x00"} {
		f.Add(seed)
	}
	queue := workqueue.New(workqueue.Options[key]{Name: "q"})
	texts := workqueue.New(workqueue.Options[string]{Name: "texts"})
	h, err := inspect.New(inspect.Options{History: history.New(history.Options{Entries: 16}), Show: []inspect.Source{inspect.Queue(queue), inspect.Queue(texts)}})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, s string) {
		queue.Add(key{Namespace: "default", Name: s})
		texts.Add(s)
		for _, format := range []string{"html", "text", "json"} {
			w := ask(h, http.MethodGet, "/?format="+format+"&key="+url.QueryEscape(s), nil)
			if w.Code != http.StatusOK && w.Code != http.StatusBadRequest {
				t.Fatalf("%d for %q", w.Code, s)
			}
			if w.Code == http.StatusOK && strings.ContainsAny(w.Body.String(), "\x1b\x00\u202e") && format != "html" {
				t.Fatalf("%s has control characters for %q", format, s)
			}
			if w.Code == http.StatusOK && format == "html" && strings.Count(w.Body.String(), "<script") != 1 {
				t.Fatalf("markup for %q", s)
			}
		}
	})
}
