package inspect_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/inspect"
	"github.com/informerkit/informerkit/workqueue"
	"github.com/informerkit/informerkit/workqueue/history"
)

// scene is a program in which something may be broken. Run it in a bubble.
type scene struct {
	*testing.T
	server *informertest.Server
	inf    *informer.Informer[*corev1.ConfigMap]
	queue  *workqueue.RateLimitingQueue[key]
	page   *inspect.Handler
}

// play runs a scene: an informer "configmaps" with a handler, and a queue "orders".
func play(t *testing.T, opts informer.Options[*corev1.ConfigMap], queue workqueue.Options[key], f func(s *scene)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &scene{T: t, server: informertest.Start(t, informertest.Options{InMemory: true})}
		for _, name := range []string{"blue", "green", "red"} {
			require.NoError(t, s.server.Create(configMap(name, "hunter2")))
		}
		opts.Name, opts.Logger = "configmaps", slog.New(slog.DiscardHandler)
		s.inf = newInformer(t, s.server, opts)
		recorder := history.New(history.Options{})
		queue.Name, queue.Observe = "orders", history.Queue[key](recorder, "orders")
		s.queue = workqueue.NewRateLimiting(workqueue.Exponential[key](workqueue.ExponentialOptions{Base: time.Second, Max: time.Minute}), queue)
		s.page = newHandlerWith(t, recorder, inspect.Informer(s.inf), inspect.Queue(s.queue))
		f(s)
		s.queue.ShutDown()
		s.server.Close()
	})
}

// run runs the informer and the workers for a time, looks at the page, and stops them.
func (s *scene) run(d time.Duration, work func(context.Context, key) (workqueue.Result, error), look func()) {
	ctx, cancel := context.WithCancel(s.Context())
	stopped := make(chan struct{})
	go func() { assert.NoError(s, s.inf.Run(ctx)) }()
	go func() {
		defer close(stopped)
		if work != nil {
			err := workqueue.ProcessWith(ctx, s.queue, workqueue.ProcessOptions[key]{CapturePanics: true, Logger: slog.New(slog.DiscardHandler)}, work)
			assert.NoError(s, err)
		}
	}()
	time.Sleep(d)
	synctest.Wait()
	look()
	cancel()
	<-s.inf.Done()
	<-stopped
}

// requireWorst checks the first thing that a person reads, on the page, in a terminal
// and in JSON.
func (s *scene) requireWorst(sentence, detail, remedy string) {
	s.Helper()
	worst := jsonOf(s.T, s.page).Problems[0]
	assert.Equal(s, sentence, worst.Sentence)
	assert.Contains(s, worst.Detail, detail)
	assert.Contains(s, worst.Remedy, remedy)
	assert.Contains(s, textOf(s.T, s.page), sentence+"\n")
	html := page(s.T, s.page)
	assert.Regexp(s, `(?s)<section id="verdict" class="verdict (error|warning)".*<h2 class="sentence"><span class="badge">(Error|Warning)</span> [^<]+</h2>`, html)
	assert.NotContains(s, html, "hunter2")
}

func nothing(context.Context, key) (workqueue.Result, error) { return workqueue.Result{}, nil }

func TestPageSaysThatAllIsWell(t *testing.T) {
	play(t, informer.Options[*corev1.ConfigMap]{}, workqueue.Options[key]{}, func(s *scene) {
		_, err := s.inf.AddHandler(informer.EnqueueKey[*corev1.ConfigMap](s.queue), informer.HandlerOptions{Name: "enqueue"})
		require.NoError(s, err)
		s.run(time.Minute, nothing, func() {
			assert.Empty(s, jsonOf(s.T, s.page).Problems)
			const sentence = "All is well: 1 informer is synced; 0 items are queued in 1 queue."
			assert.Contains(s, textOf(s.T, s.page), sentence)
			assert.Contains(s, page(s.T, s.page), `<span class="badge">OK</span> `+sentence)
			assert.Contains(s, page(s.T, s.page), "3 items done in the last 5 minutes; at most 3 in 10 seconds")
		})
	})
}

func TestPageNamesTheCauseOfA403(t *testing.T) {
	play(t, informer.Options[*corev1.ConfigMap]{}, workqueue.Options[key]{}, func(s *scene) {
		s.server.Inject(informertest.Fault{Times: -1, Effect: informertest.Refuse(apierrors.NewForbidden(
			schema.GroupResource{Resource: "configmaps"}, "", errors.New(`User "shop" cannot list resource "configmaps"`)))})
		s.run(time.Minute, nothing, func() {
			s.requireWorst("Informer configmaps is not synced: the server does not permit this user to list and watch (403 Forbidden).",
				`User "shop" cannot list resource "configmaps"`, "Add the verbs list and watch on this resource to the Role or ClusterRole of this user")
		})
	})
}

func TestPageNamesTheCauseOfADeadServer(t *testing.T) {
	play(t, informer.Options[*corev1.ConfigMap]{}, workqueue.Options[key]{}, func(s *scene) {
		refused := stubInformer{Name: "pods", Synced: true, Sources: []informer.SourceHealth{{}}}
		refused.Sources[0].Reflector.Synced = true
		refused.Sources[0].Reflector.State = "Degraded"
		refused.Sources[0].Reflector.LastError = fmt.Errorf("cannot watch pods at https://10.0.0.1: %w", syscall.ECONNREFUSED)
		refused.Sources[0].Reflector.LastErrorClass = "refused"
		refused.Sources[0].Reflector.DegradedSince = time.Now().Add(-time.Minute)
		own := s.page
		s.page = newHandler(s.T, inspect.Informer(refused))
		s.requireWorst("Informer pods has been out of touch with the server for 1m: nothing listens at the server's address (connection refused).",
			"cannot watch pods at https://10.0.0.1: connection refused", "Check that the API server is running")

		s.page = own
		require.NoError(s, s.server.Pause())
		s.run(time.Minute, nothing, func() {
			worst := jsonOf(s.T, s.page).Problems[0]
			assert.Equal(s, "not-synced", worst.Kind)
			assert.Contains(s, worst.Sentence, "Informer configmaps is not synced: ")
			assert.Contains(s, worst.Detail, "cannot ")
		})
	})
}

func TestPageNamesAQuarantinedObject(t *testing.T) {
	opts := informer.Options[*corev1.ConfigMap]{Transform: func(c *corev1.ConfigMap) (*corev1.ConfigMap, error) {
		if c.Name == "red" {
			return nil, fmt.Errorf("odd data: %v", c.Data)
		}
		return c, nil
	}}
	play(t, opts, workqueue.Options[key]{}, func(s *scene) {
		s.run(time.Minute, nothing, func() {
			s.requireWorst("1 object of informer configmaps cannot be transformed, so no handler sees what changes there: default/red.", "", "Correct the Transform function")
		})
	})
}

func TestPageNamesAPanickingHandler(t *testing.T) {
	play(t, informer.Options[*corev1.ConfigMap]{}, workqueue.Options[key]{}, func(s *scene) {
		_, err := s.inf.AddHandler(informer.HandlerFuncs[*corev1.ConfigMap]{AddFunc: func(c *corev1.ConfigMap, _ bool) {
			if c.Name == "green" {
				_ = 100 / len(c.Labels) // it has none
			}
		}}, informer.HandlerOptions{Name: "label", OnPanic: func(informer.HandlerPanic) {}})
		require.NoError(s, err)
		s.run(time.Minute, nothing, func() {
			s.requireWorst("Handler label of informer configmaps panicked 1m ago with the event Added default/green, 1 panic so far.",
				"panic: runtime error: integer divide by zero", "Correct the handler")
			time.Sleep(10 * time.Minute)
			assert.Empty(s, jsonOf(s.T, s.page).Problems, "it was long ago")
			assert.Contains(s, textOf(s.T, s.page), "last panic 11m ago, Added default/green")
		})
	})
}

func TestPageNamesAPoisonKey(t *testing.T) {
	play(t, informer.Options[*corev1.ConfigMap]{}, workqueue.Options[key]{}, func(s *scene) {
		_, err := s.inf.AddHandler(informer.EnqueueKey[*corev1.ConfigMap](s.queue), informer.HandlerOptions{})
		require.NoError(s, err)
		s.run(30*time.Second, func(_ context.Context, k key) (workqueue.Result, error) {
			if k.Name == "blue" {
				return workqueue.Result{}, errors.New("the customer of the order does not exist")
			}
			return workqueue.Result{}, nil
		}, func() {
			s.requireWorst("default/blue failed 5 times in a row in queue orders, 15s ago most recently.",
				"the customer of the order does not exist", "the next attempt is in 1s.")
		})
	})
}

func TestPageNamesADroppedKey(t *testing.T) {
	play(t, informer.Options[*corev1.ConfigMap]{}, workqueue.Options[key]{}, func(s *scene) {
		s.queue.Add(key{Namespace: "default", Name: "blue"})
		s.run(30*time.Second, func(context.Context, key) (workqueue.Result, error) {
			return workqueue.Result{}, workqueue.Terminal(errors.New("no such color"))
		}, func() {
			s.requireWorst("default/blue was dropped by queue orders 30s ago, after 1 attempt.", "terminal: no such color", "processed again when it is added again")
		})
	})
}

func TestPageNamesAStarvedClass(t *testing.T) {
	play(t, informer.Options[*corev1.ConfigMap]{}, workqueue.Options[key]{MaxWait: []time.Duration{0, 30 * time.Second}}, func(s *scene) {
		for i := range 40 {
			s.queue.PriorityClass(1).Add(key{Name: fmt.Sprint("bulk-", i)})
		}
		s.run(2*time.Minute, func(context.Context, key) (workqueue.Result, error) {
			time.Sleep(20 * time.Second)
			return workqueue.Result{}, nil
		}, func() {
			s.requireWorst("Priority class 1 of queue orders is starved: the oldest of its 33 items has waited for 2m, and MaxWait is 30s.",
				"", "Use more workers, make the work shorter, or give fewer items a more urgent class")
		})
	})
}

func TestPageNamesWhatHoldsAQueueUp(t *testing.T) {
	play(t, informer.Options[*corev1.ConfigMap]{}, workqueue.Options[key]{}, func(s *scene) {
		for _, item := range []key{{Name: "a"}, {Name: "b"}} {
			s.queue.Add(item)
		}
		s.run(20*time.Second, nil, func() {
			s.requireWorst("No worker takes items from queue orders: 2 items are waiting, the oldest for 20s.", "", "Start Process")
		})
	})
}

func TestPageNamesAWorkerThatHangs(t *testing.T) {
	play(t, informer.Options[*corev1.ConfigMap]{}, workqueue.Options[key]{}, func(s *scene) {
		for _, item := range []key{{Name: "a"}, {Name: "b"}} {
			s.queue.Add(item)
		}
		s.run(10*time.Minute, func(ctx context.Context, _ key) (workqueue.Result, error) {
			<-ctx.Done()
			return workqueue.Result{}, nil
		}, func() {
			s.requireWorst("A worker of queue orders has been processing a for 10m.", "", "Set ProcessOptions.ItemTimeout")
			assert.Contains(s, textOf(s.T, s.page), "Queue orders is behind: the oldest of 1 item has waited for 10m, while 1 item is running.")
		})
	})
}

func TestPageNamesAHandlerThatHangs(t *testing.T) {
	play(t, informer.Options[*corev1.ConfigMap]{}, workqueue.Options[key]{}, func(s *scene) {
		release := make(chan struct{})
		_, err := s.inf.AddHandler(informer.HandlerFuncs[*corev1.ConfigMap]{AddFunc: func(*corev1.ConfigMap, bool) { <-release }}, informer.HandlerOptions{Name: "slow"})
		require.NoError(s, err)
		s.run(20*time.Second, nothing, func() {
			s.requireWorst("Handler slow of informer configmaps is behind by 1 event and 20s.", "", "Let the handler return at once")
			close(release)
		})
	})
}

// Errors of the program's own functions are shown, save for what quotes objects.
// Promise inspect/3
func TestPromise3ErrorsOfTheProgram(t *testing.T) {
	t.Parallel()
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "blue", field.ErrorList{field.Invalid(field.NewPath("data", "color"), "hunter2", "hunter2 is no color")})
	var failures []history.Failure
	for name, err := range map[string]error{
		"invalid": fmt.Errorf("cannot write: %w", invalid),
		"object":  &workqueue.PanicError{Value: configMap("blue", "hunter2")},
		"panic":   &workqueue.PanicError{Value: invalid},
		"rude":    rudeError{},
		"plain":   errors.New("no quota"),
	} {
		failures = append(failures, history.Failure{Key: history.Key{Name: name}, Err: err, Action: workqueue.Retried})
	}
	queue, recorder := stubQueue[key]{Inspection: workqueue.Inspection[key]{Name: "q"}}, recalling("q", failures...)
	h := newHandlerWith(t, recorder, inspect.Queue(queue))
	messages := map[string]string{}
	for _, f := range jsonOf(t, h).Queues[0].Failures.Shown {
		messages[f.Item] = f.Message
	}
	assert.Contains(t, messages["invalid"], `the server finds ConfigMap "blue" invalid (422): data.color (FieldValueInvalid)`)
	assert.Contains(t, messages["object"], "panic: a value of type *v1.ConfigMap, not shown")
	assert.Contains(t, messages["panic"], "data.color (FieldValueInvalid)")
	assert.Contains(t, messages["rude"], "no text for you")
	assert.Equal(t, "no quota", messages["plain"])
	for _, answer := range []string{page(t, h), textOf(t, h), ask(h, http.MethodGet, "/?format=json", nil).Body.String()} {
		assert.NotContains(t, answer, "hunter2")
	}

	hiding, err := inspect.New(inspect.Options{HideErrors: true, History: recorder, Show: []inspect.Source{inspect.Queue(queue), inspect.Informer(stubInformer{
		Handlers: []informer.HandlerHealth{{Panics: 1, LastPanicTime: time.Now(), LastPanic: &informer.HandlerPanic{Value: "no quota"}}},
	})}})
	require.NoError(t, err)
	for _, answer := range []string{page(t, hiding), textOf(t, hiding), ask(hiding, http.MethodGet, "/?format=json", nil).Body.String()} {
		assert.NotContains(t, answer, "no quota")
		assert.NotContains(t, answer, "hunter2")
		assert.Contains(t, answer, "HideErrors")
	}
}

type rudeError struct{}

func (rudeError) Error() string { panic("no text for you") }

// A page is bounded whatever the queues hold, and costs little.
// Promise inspect/4
func TestPromise4PageOfAMillionKeys(t *testing.T) {
	if testing.Short() {
		t.Skip("allocates some hundred megabytes")
	}
	queue := workqueue.New(workqueue.Options[key]{Name: "long", Times: true})
	items := make([]key, 1_000_000)
	for i := range items {
		items[i] = key{Namespace: "default", Name: "item-" + strconv.Itoa(i)}
	}
	for _, item := range items {
		queue.Add(item)
	}
	h := newHandler(t, inspect.Queue(queue))
	assert.Less(t, len(page(t, h)), 100_000)
	best := time.Hour
	for range 20 {
		began := time.Now()
		page(t, h)
		best = min(best, time.Since(began))
	}
	assert.Less(t, best, 50*time.Millisecond, "the best of twenty, so that other work on the machine does not count")
}
