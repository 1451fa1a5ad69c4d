package flaws

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	step08 "github.com/informerkit/informerkit/examples/build/step08"
	"github.com/informerkit/informerkit/informer/informertest"
)

func cost(w *world) string {
	for n := range 100 {
		w.create(fmt.Sprintf("n%02d", n))
	}
	w.start(nil)
	pass(3*time.Second + settle)
	return fmt.Sprintf("the server sends %d objects", 100*w.server.Count("list", "configmaps"))
}

func between(w *world) string {
	w.create("a")
	w.start(nil)
	w.delete("a")
	w.create("a")
	pass(time.Second + settle)
	return "the handler hears: " + w.heard()
}

// late lets the next watch begin later.
func (w *world) late() {
	w.server.Inject(informertest.Fault{Verb: "watch", Resource: "configmaps", Effect: informertest.Delay(settle)})
}

func broken(w *world) string {
	w.create("a", "b")
	i := w.start(nil)
	w.late()
	w.server.BreakConnections()
	w.delete("b")
	w.create("c")
	w.until(func() bool { return i.Get(key("c")) != nil })
	pass(settle)
	return "the copy has: " + names(i)
}

func storm(w *world) string {
	const most = 1000
	n, reached := 0, make(chan struct{})
	w.server.Inject(informertest.Fault{
		Verb: "watch", Times: -1, Effect: informertest.EndWatch(0),
		Match: func(informertest.Request) bool {
			if n++; n == most {
				close(reached)
				w.stop() // or it would go on
			}
			return true
		},
	})
	i, err := newInformer(w.step, w.server.Config(), func(string) {})
	w.check(err)
	w.running.Go(func() { w.check(i.Run(w.ctx)) })
	select {
	case <-reached:
		return fmt.Sprintf("%d requests, and more if it went on", most)
	case <-time.After(3 * time.Second):
	}
	if n := w.server.Count("watch", "configmaps"); n >= 10 {
		return fmt.Sprintf("%d requests", n)
	}
	return "fewer than 10 requests"
}

func outage(w *world) string {
	w.create("a", "b")
	i := w.start(nil)
	w.late()
	w.server.BreakConnections()
	w.delete("b")
	w.server.Compact()
	w.until(func() bool { return w.server.Count("list", "configmaps") == 2 })
	pass(settle)
	return "the copy has: " + names(i)
}

func half(w *world) string {
	w.create("a", "b", "c")
	var once sync.Once
	found := 0
	w.start(func(i informer, _ string) { once.Do(func() { found = len(i.List()) }) })
	w.stop()
	w.running.Wait()
	return fmt.Sprintf("it finds %d of 3", found)
}

func labelled(name, value string) *corev1.ConfigMap {
	obj := configMap(name)
	obj.Labels = map[string]string{"app": value}
	return obj
}

func slowReader(w *world) string {
	s := newStore(w.step, func(types.NamespacedName) {})
	s.Set(labelled("a", "web"))
	reading, release, written := make(chan struct{}), make(chan struct{}), make(chan struct{})
	w.running.Go(func() {
		s.ByIndex("web", func(*corev1.ConfigMap) {
			close(reading)
			<-release
		})
	})
	<-reading
	w.running.Go(func() {
		s.Set(labelled("b", "web"))
		close(written)
	})
	defer close(release)
	select {
	case <-written:
		return "the write is done"
	case <-time.After(settle):
		return "the write waits for the reader"
	}
}

func mutation(w *world) string {
	said := ""
	s := newStore(w.step, func(key types.NamespacedName) {
		said = fmt.Sprintf("the next write reports that %s was changed", key)
	})
	s.Set(labelled("a", "web"))
	s.ByIndex("web", func(obj *corev1.ConfigMap) { obj.Labels["app"] = "db" })
	s.Set(labelled("b", "mail"))
	if said == "" {
		s.ByIndex("web", func(obj *corev1.ConfigMap) {
			said = fmt.Sprintf("under web there is an object of %s, and nobody notices", app(obj))
		})
	}
	return said
}

func waits(w *world) string {
	w.create("a")
	release := make(chan struct{})
	i := w.start(func(informer, string) { <-release })
	value := ""
	for n := range 100 {
		value = fmt.Sprintf("%01000d", n) // large enough to fill buffers
		w.touch("a", value)
		pass(time.Millisecond)
	}
	close(release)
	w.until(func() bool { return i.Get(key("a")).Data["value"] == value })
	if n := w.server.Count("list", "configmaps"); n > 1 {
		return fmt.Sprintf("%d lists: the server has forgotten what was not read", n)
	}
	return "1 list"
}

func slowHandler(w *world) string {
	w.create("a")
	release := make(chan struct{})
	defer close(release)
	i := w.start(func(informer, string) { <-release })
	w.create("b")
	pass(settle)
	return "the copy has: " + names(i)
}

func together(w *world) string {
	w.create("a")
	var mu sync.Mutex
	running, most := 0, 0
	release := make(chan struct{})
	defer close(release)
	w.running.Go(func() {
		w.check(work(w.ctx, w.step, 2, w.server.Config(), func(context.Context, types.NamespacedName) error {
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			<-release
			mu.Lock()
			running--
			mu.Unlock()
			return nil
		}))
	})
	w.until(func() bool { return w.server.Count("watch", "configmaps") == 1 })
	pass(settle)
	w.touch("a", "changed")
	pass(settle)
	mu.Lock()
	defer mu.Unlock()
	if most == 1 {
		return "1 worker at once on a"
	}
	return fmt.Sprintf("%d workers at once on a", most)
}

// operate runs a replica of the controller.
func (w *world) operate(identity string) {
	c, err := newController(w.step, w.server.Config(), identity)
	w.check(err)
	if err == nil {
		w.running.Go(func() { w.check(c.Run(w.ctx, 2)) })
	}
}

// ask creates an object that is to have a backup.
func (w *world) ask(name string) {
	obj := configMap(name)
	obj.Labels = map[string]string{step08.Label: "yes"}
	w.check(w.server.Create(obj))
}

// backups says how many backups of a there are, if there is nothing else.
func (w *world) backups() string {
	if n := len(w.stored()) - 1; n != 1 {
		return fmt.Sprintf("%d backups of a", n)
	}
	return "1 backup of a"
}

func twice(w *world) string {
	// The watch sends the creation of a and its change, and then nothing until it breaks.
	w.server.Inject(informertest.Fault{Verb: "watch", Resource: "configmaps", Effect: informertest.StallWatch(2)})
	w.server.Inject(informertest.Fault{Verb: "create", Resource: "configmaps", Times: -1, Effect: informertest.Delay(2 * settle)})
	w.operate("one")
	w.until(func() bool { return w.server.Count("watch", "configmaps") == 1 })
	pass(settle)
	w.ask("a")
	pass(settle) // the backup is being made
	w.touch("a", "changed")
	pass(10 * settle) // and, if so, a second one
	w.server.BreakConnections()
	w.until(func() bool { return w.server.Count("watch", "configmaps") == 2 })
	pass(time.Second + settle)
	return w.backups()
}

func replicas(w *world) string {
	// A creation takes so long that both see the object before there is a backup.
	w.server.Inject(informertest.Fault{Verb: "create", Resource: "configmaps", Times: -1, Effect: informertest.Delay(settle)})
	w.operate("one")
	w.operate("two")
	w.until(func() bool { return w.server.Count("watch", "configmaps") == 2 })
	pass(settle)
	w.ask("a")
	pass(time.Second)
	return w.backups()
}
