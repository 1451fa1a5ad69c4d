package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
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
	"github.com/informerkit/informerkit/internal/verify/bench"
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

// address is what the server prints when it is ready.
type address struct{ URL, Control string }

// usage is what the server has used and done so far.
type usage struct {
	CPU     time.Duration
	Changes int64
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

// serve is the process of the server. It ends with its standard input.
func serve(o options) error {
	server, err := informertest.NewServer(informertest.Options{
		Scheme:              scheme.Scheme, // for protobuf
		ShardedListAndWatch: o.gate == "on",
		Resources:           []informertest.Resource{{Group: foos.Group, Versions: []string{foos.Version}, Kind: "Foo", Plural: foos.Resource}},
	})
	if err != nil {
		return err
	}
	defer server.Close()
	b := &backend{server: server, kind: o.kind}
	if err := b.create(o.objects); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	var changing sync.WaitGroup
	changing.Go(func() { b.change(ctx) })
	defer changing.Wait()
	defer cancel()
	return bench.ServeUntil(os.Stdin, b, func(url string) error { return json.NewEncoder(os.Stdout).Encode(address{server.URL(), url}) })
}

// ServeHTTP sets the rate of the changes and the number of the objects, and answers with
// what was used.
func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	number := func(name string, set func(n int) error) error {
		text := r.FormValue(name)
		if text == "" {
			return nil
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return set(n)
	}
	err := errors.Join(
		number("rate", func(n int) error { b.rate.Store(int64(n)); return nil }),
		number("objects", b.create),
	)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	_ = json.NewEncoder(w).Encode(usage{bench.CPUTime(), b.changes.Load()})
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

// change changes objects at the rate that is set, until ctx ends.
func (b *backend) change(ctx context.Context) {
	const step = 10 * time.Millisecond
	ticker := time.NewTicker(step)
	defer ticker.Stop()
	due := 0.0
	for n := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
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
	*bench.Process
	control string
	cfg     *rest.Config
}

// launch starts the server with objects of a kind.
func launch(kind string, objects int, filter bool) (*remote, error) {
	gate := map[bool]string{true: "on", false: "off"}[filter]
	process, line, err := bench.Launch(nil, "-role", "server", "-kind", kind, "-objects", fmt.Sprint(objects), "-gate", gate)
	if err != nil {
		return nil, err
	}
	var at address
	if err := json.Unmarshal(line, &at); err != nil {
		return nil, errors.Join(fmt.Errorf("the server: %w", err), process.End())
	}
	// As many requests as they need: what is measured is the load, not a limit of it.
	return &remote{process, at.Control, &rest.Config{Host: at.URL, QPS: -1}}, nil
}

// ask sends a request of ServeHTTP, such as "rate=100".
func (s *remote) ask(ctx context.Context, query string) (u usage, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.control+"/?"+query, http.NoBody)
	if err != nil {
		return u, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return u, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(answer.Body)
		return u, fmt.Errorf("the server: %s", text)
	}
	return u, json.NewDecoder(answer.Body).Decode(&u)
}
