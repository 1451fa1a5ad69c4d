package reflector_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/reflector"
)

// printer is a sink that prints what it receives.
type printer struct{ synced, added chan struct{} }

func (p printer) Replace(_ context.Context, objs []*corev1.ConfigMap, _ string) error {
	for _, o := range objs {
		fmt.Println("there is", o.Name)
	}
	close(p.synced)
	return nil
}

func (p printer) Add(_ context.Context, o *corev1.ConfigMap) error {
	fmt.Println("added", o.Name)
	close(p.added)
	return nil
}

func (printer) Update(context.Context, *corev1.ConfigMap) error { return nil }
func (printer) Delete(context.Context, *corev1.ConfigMap) error { return nil }
func (printer) Bookmark(context.Context, string) error          { return nil }

func Example() {
	server, err := informertest.NewServer(informertest.Options{})
	if err != nil {
		panic(err)
	}
	defer server.Close()
	create := func(name string) {
		err := server.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}})
		if err != nil {
			panic(err)
		}
	}
	create("first")

	gvr := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	source, err := reflector.NewResource[*corev1.ConfigMap](server.Config(), gvr, reflector.ResourceOptions{Namespace: "default"})
	if err != nil {
		panic(err)
	}
	sink := printer{make(chan struct{}), make(chan struct{})}
	r, err := reflector.New(source, sink, reflector.Options{})
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = r.Run(ctx) })
	<-sink.synced
	create("second")
	<-sink.added
	cancel()
	running.Wait()
	fmt.Println(r.Health().State)
	// Output:
	// there is first
	// added second
	// Stopped
}

// A reflector that waits for a CustomResourceDefinition, and stops
// if it is not allowed to read.
func ExampleOptions_policy() {
	opts := reflector.Options{
		Policy: func(f reflector.Failure) reflector.Decision {
			switch f.Class {
			case reflector.ClassNotFound:
				return reflector.RetryAfter(time.Minute)
			case reflector.ClassForbidden:
				return reflector.Stop()
			}
			return reflector.Retry()
		},
	}
	fmt.Println(opts.Policy(reflector.Failure{Class: reflector.ClassForbidden}) == reflector.Stop())
	// Output: true
}

// A projection keeps in memory what the program needs of each object.
func ExampleTransform() {
	server, err := informertest.NewServer(informertest.Options{})
	if err != nil {
		panic(err)
	}
	defer server.Close()
	gvr := schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	full, err := reflector.NewResource[*corev1.Namespace](server.Config(), gvr, reflector.ResourceOptions{})
	if err != nil {
		panic(err)
	}
	names := reflector.Transform(full, func(ns *corev1.Namespace) (*metav1.PartialObjectMetadata, error) {
		// Name, namespace, UID and resourceVersion come along by themselves.
		return &metav1.PartialObjectMetadata{}, nil
	})
	_, err = names.List(context.Background(), reflector.Request{}, func(ev reflector.WatchEvent[*metav1.PartialObjectMetadata]) error {
		o, err := ev.Object, ev.Err
		fmt.Println(o.Name)
		return err
	})
	if err != nil {
		panic(err)
	}
	// Output:
	// default
	// kube-node-lease
	// kube-public
	// kube-system
}

// The error of a request says what to do about it, and how to sort it.
func ExampleClassify() {
	server, err := informertest.NewServer(informertest.Options{})
	if err != nil {
		panic(err)
	}
	defer server.Close()
	gvr := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
	widgets, err := reflector.NewResource[*metav1.PartialObjectMetadata](server.Config(), gvr, reflector.ResourceOptions{})
	if err != nil {
		panic(err)
	}
	_, err = widgets.List(context.Background(), reflector.Request{}, nil)
	fmt.Println(reflector.Classify(err))
	// Output: not found
}

// Any pair of functions can be a source; those of a generated clientset fit.
func ExampleFromFuncs() {
	var clientset interface {
		List(context.Context, metav1.ListOptions) (*corev1.PodList, error)
	} = podClient{}
	lw := reflector.FromFuncs[*corev1.Pod](clientset.List, noWatch)
	_, err := lw.List(context.Background(), reflector.Request{}, func(ev reflector.WatchEvent[*corev1.Pod]) error {
		p, err := ev.Object, ev.Err
		fmt.Println(p.Name)
		return err
	})
	fmt.Println(err)
	// Output:
	// web
	// <nil>
}

type podClient struct{}

func (podClient) List(context.Context, metav1.ListOptions) (*corev1.PodList, error) {
	return &corev1.PodList{Items: []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "web"}}}}, nil
}

// newServer starts an API server for an example.
func newServer(objects ...runtime.Object) *informertest.Server {
	server, err := informertest.NewServer(informertest.Options{})
	if err != nil {
		panic(err)
	}
	for _, o := range objects {
		if err := server.Create(o); err != nil {
			panic(err)
		}
	}
	return server
}
