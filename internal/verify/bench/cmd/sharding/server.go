package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/internal/verify/measure"
)

var (
	configMaps  = corev1.SchemeGroupVersion.WithResource("configmaps")
	deployments = appsv1.SchemeGroupVersion.WithResource("deployments")
	foos        = schema.GroupVersionResource{Group: "samplecontroller.k8s.io", Version: "v1alpha1", Resource: "foos"}
)

// namespaces is how many there are for owners and what they own.
const namespaces = 200

// changedAt is the key of the time of a change in the data or the annotations of an object.
const changedAt = "changed-at"

// payload makes an object of a kilobyte, which is what small objects have with their
// managed fields.
var payload = strings.Repeat("abcdefghijklmnopqrstuvwxyz 0123456789 ", 20)

// Usage is what the server has used and done so far.
type Usage struct {
	CPU     time.Duration
	Changes int64
}

// Content is what a server has.
type Content struct {
	Kind    string // "owned" for owners and what they own
	Objects int
	Filter  bool // whether the server filters by ranges
}

// backend is the API server in its own process, with what changes the objects.
type backend struct {
	server  *informertest.Server
	kind    string
	objects atomic.Int64
	rate    atomic.Int64
	changes atomic.Int64
	mu      sync.Mutex // held while objects are created
}

// Begin starts the server, and replies its address.
func (b *backend) Begin(c Content, url *string) (err error) {
	b.server, err = informertest.NewServer(informertest.Options{
		Scheme:              scheme.Scheme, // for protobuf
		ShardedListAndWatch: c.Filter,
		Resources:           []informertest.Resource{{Group: foos.Group, Versions: []string{foos.Version}, Kind: "Foo", Plural: foos.Resource}},
	})
	if err != nil {
		return err
	}
	b.kind, *url = c.Kind, b.server.URL()
	go b.change() // ends with the process
	return b.create(c.Objects)
}

// SetRate sets the rate of the changes.
func (b *backend) SetRate(perSecond int, _ *measure.None) error {
	b.rate.Store(int64(perSecond))
	return nil
}

// Create creates objects until there are so many.
func (b *backend) Create(n int, _ *measure.None) error { return b.create(n) }

// Used replies what was used.
func (b *backend) Used(_ measure.None, u *Usage) error {
	*u = Usage{measure.CPUTime(), b.changes.Load()}
	return nil
}

// create creates objects until there are so many.
func (b *backend) create(n int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := int(b.objects.Load()); i < n; i++ {
		var err error
		if b.kind == "owned" {
			err = b.createOwner(i)
		} else {
			err = b.server.Create(&corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name(i)},
				Data:       map[string]string{"payload": payload, changedAt: now()},
			})
		}
		if err != nil {
			return fmt.Errorf("creating object %d: %w", i, err)
		}
		b.objects.Store(int64(i + 1))
	}
	return nil
}

func name(i int) string { return fmt.Sprint("object-", i) }

func now() string { return strconv.FormatInt(time.Now().UnixNano(), 10) }

// namespace is that of an owner and of what it owns.
func namespace(i int) string { return fmt.Sprint("team-", i%namespaces) }

// createOwner creates a Foo with a Deployment.
func (b *backend) createOwner(i int) error {
	foo := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"deploymentName": name(i), "replicas": int64(1)}}}
	foo.SetGroupVersionKind(foos.GroupVersion().WithKind("Foo"))
	foo.SetNamespace(namespace(i))
	foo.SetName(name(i))
	if err := b.server.Create(foo); err != nil {
		return err
	}
	labels := map[string]string{"app": name(i)}
	return b.server.Create(&appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace(i), Name: name(i), Labels: labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(foo, foo.GroupVersionKind())},
		},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Name: "app", Image: "registry.example.com/team/app:1.2.3",
				Env:     []corev1.EnvVar{{Name: "CONFIGURATION", Value: payload}},
				Command: []string{"/app", "-listen", ":8080", "-config", "/etc/app/config.yaml"},
			}}}},
		},
	})
}

// change changes objects at the rate that is set.
func (b *backend) change() {
	const step = 10 * time.Millisecond
	ticker := time.NewTicker(step)
	defer ticker.Stop()
	due := 0.0
	for n := 0; ; {
		<-ticker.C
		rate := b.rate.Load()
		for due += float64(rate) * step.Seconds(); due >= 1; due-- {
			i := n * 7919 % int(b.objects.Load())
			n++
			if err := b.changeOne(i); err != nil {
				fmt.Fprintln(os.Stderr, "sharding: changing object", i, "failed:", err)
				continue
			}
			b.changes.Add(1)
		}
	}
}

// changeOne changes an object, or what an owner owns: its status, as controllers do.
func (b *backend) changeOne(i int) error {
	if b.kind == "owned" {
		return b.server.Modify(deployments, namespace(i), name(i), func(u *unstructured.Unstructured) {
			u.SetAnnotations(map[string]string{changedAt: now()})
		})
	}
	return b.server.Modify(configMaps, "default", name(i), func(u *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(u.Object, now(), "data", changedAt) // fails for a field of another type only
	})
}

// remote is the server as the measuring process sees it.
type remote struct {
	*measure.Process
	cfg *rest.Config
}

// launch starts the server with objects of a kind.
func launch(ctx context.Context, kind string, objects int, filter bool) (*remote, error) {
	cmd, err := measure.Self("-server")
	if err != nil {
		return nil, err
	}
	process, err := measure.Start(cmd)
	if err != nil {
		return nil, err
	}
	url, err := measure.Call[string](ctx, process, "Begin", Content{kind, objects, filter})
	if err != nil {
		return nil, errors.Join(err, process.End())
	}
	// As many requests as they need: what is measured is the load, not a limit of it.
	return &remote{process, &rest.Config{Host: url, QPS: -1}}, nil
}

// set calls a method with a number, such as SetRate.
func (s *remote) set(ctx context.Context, method string, n int) error {
	_, err := measure.Call[measure.None](ctx, s.Process, method, n)
	return err
}

// used returns what the server has used so far.
func (s *remote) used(ctx context.Context) (Usage, error) {
	return measure.Call[Usage](ctx, s.Process, "Used", measure.None(true))
}
