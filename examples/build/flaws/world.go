package flaws

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/informer/informertest"
)

var configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")

// patience is for what has to happen: it takes much less.
const patience = 20 * time.Second

// world is a server, and the part of a step that runs on it.
type world struct {
	step   int
	server *informertest.Server

	ctx     context.Context
	stop    context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex
	failed error // the first error
	events []string
}

// Play runs a scenario with a step and returns what came out. It runs in real time, or in
// the time of a synctest bubble.
func Play(ctx context.Context, flaw Flaw, step int) (string, error) {
	server, err := informertest.NewServer(informertest.Options{InMemory: true, HistoryLength: flaw.history})
	if err != nil {
		return "", err
	}
	defer server.Close()
	w := &world{step: step, server: server}
	w.ctx, w.stop = context.WithCancel(ctx)
	defer w.stop()
	came := flaw.play(w)
	w.stop()
	w.running.Wait()
	return came, w.failed
}

// check keeps the first error. That the context has ended is none.
func (w *world) check(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed == nil && err != nil && !errors.Is(err, context.Canceled) {
		w.failed = err
	}
}

// start runs the informer of the step. handle may be nil.
func (w *world) start(handle func(i informer, event string)) informer {
	var i informer
	i, err := newInformer(w.step, w.server.Config(), func(event string) {
		w.mu.Lock()
		w.events = append(w.events, event)
		w.mu.Unlock()
		if handle != nil {
			handle(i, event)
		}
	})
	w.check(err)
	if err == nil {
		w.running.Go(func() { w.check(i.Run(w.ctx)) })
		w.until(func() bool { return w.server.Count("list", "configmaps") > 0 })
		pass(settle)
	}
	return i
}

// settle is longer than anything takes that needs no delay.
const settle = 200 * time.Millisecond

// pass lets time go by.
func pass(d time.Duration) { <-time.After(d) }

// until waits until something is so.
func (w *world) until(so func() bool) {
	for end := time.Now().Add(patience); !so(); pass(settle / 10) {
		if time.Now().After(end) {
			w.check(fmt.Errorf("step %d has waited for %v", w.step, patience))
			return
		}
	}
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

func (w *world) create(names ...string) {
	for _, name := range names {
		w.check(w.server.Create(configMap(name)))
	}
}

func (w *world) delete(name string) { w.check(w.server.Delete(configMaps, namespace, name)) }

// touch changes an object; with the label of an original, a backup is asked for, too.
func (w *world) touch(name, value string) {
	w.check(w.server.Modify(configMaps, namespace, name, func(u *unstructured.Unstructured) {
		u.Object["data"] = map[string]any{"value": value}
	}))
}

// stored returns the names that the server has.
func (w *world) stored() []string {
	all, err := w.server.List(configMaps, namespace, labels.Everything())
	w.check(err)
	var names []string
	for _, u := range all {
		names = append(names, u.GetName())
	}
	return names
}

// names returns the names in a copy.
func names(i informer) string {
	var all []string
	for _, obj := range i.List() {
		all = append(all, obj.Name)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// heard returns the events that the handler got.
func (w *world) heard() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.events, ", ")
}

func key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}
