package explore

import (
	"runtime"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/informer/informertest"
)

const (
	// stepTime is how long the controller changes nothing before users take a step, unless
	// the schedule moves the step.
	stepTime = 5 * time.Second
	// settleTime is how long it changes nothing before Settle returns.
	settleTime = 30 * time.Second
)

// World is where Act acts. Its methods are the steps of users and block until they have
// been carried out. An error of the server fails the test, unless it says that the object
// is gone: with faults, it may be.
type World struct {
	run *run
}

// step is a step of users that waits for its turn.
type step struct {
	what string
	do   func() error
	// after is how long the controller must have changed nothing.
	after time.Duration
	done  chan struct{}
}

// Create stores an object and completes obj, as [informertest.Server.Create] does.
func (w *World) Create(obj kruntime.Object) {
	w.step("create "+describe(obj), func() error {
		err := w.run.server.Create(obj)
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	})
}

// Change modifies a stored object, as [informertest.Server.Modify] does.
func (w *World) Change(gvr schema.GroupVersionResource, namespace, name string, change func(*unstructured.Unstructured)) {
	w.step("change "+gvr.Resource+" "+objectName(namespace, name), func() error {
		return w.run.server.Modify(gvr, namespace, name, change)
	})
}

// Delete deletes an object. Finalizers hold it back.
func (w *World) Delete(gvr schema.GroupVersionResource, namespace, name string) {
	w.step("delete "+gvr.Resource+" "+objectName(namespace, name), func() error {
		w.run.deleted = slices.DeleteFunc(w.run.deleted, func(d *deleted) bool {
			return d.resource == gvr && d.last.GetNamespace() == namespace && d.last.GetName() == name
		})
		return w.run.server.Delete(gvr, namespace, name)
	})
}

// Do carries out any other step. what describes it in a trace. step must not block.
func (w *World) Do(what string, step func(s *informertest.Server) error) {
	w.step(what, func() error { return step(w.run.server) })
}

// Settle waits until the controller has written nothing for 30 seconds of the bubble's time.
func (w *World) Settle() { w.wait(&step{after: settleTime}) }

// Sleep lets time pass in the bubble.
func (w *World) Sleep(d time.Duration) {
	select {
	case <-time.After(d):
	case <-w.run.over:
		runtime.Goexit()
	}
}

// View returns the state of the server.
func (w *World) View() View { return w.run.view() }

func (w *World) step(what string, do func() error) {
	w.wait(&step{what: what, do: do, after: stepTime})
}

// wait hands a step to the run and returns when it has been carried out. The end of the
// run ends the calling goroutine.
func (w *World) wait(s *step) {
	s.done = make(chan struct{})
	w.run.submit(s)
	select {
	case <-s.done:
	case <-w.run.over:
		runtime.Goexit()
	}
}

// describe names an object that may not state its kind.
func describe(obj kruntime.Object) string {
	kind := obj.GetObjectKind().GroupVersionKind().Kind
	if kind == "" {
		kind = typeName(obj)
	}
	if m, ok := obj.(interface {
		GetNamespace() string
		GetName() string
		GetGenerateName() string
	}); ok {
		return kind + " " + objectName(m.GetNamespace(), m.GetName()+m.GetGenerateName())
	}
	return kind
}
