// Command metadata compares three caches of the same pods: the full objects, their
// metadata only, and a projection, which keeps the two fields that this program
// needs.
package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"runtime"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/informerkit/informerkit/examples/exampleapp"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/reflector"
)

func main() { exampleapp.Main(app) }

var app = exampleapp.App{
	Name: "metadata", About: "Compares caches of full objects, of metadata, and of a projection.", OnceOnCluster: true,
	Takes: exampleapp.TakesNamespace, Run: run,
}

var pods = corev1.SchemeGroupVersion.WithResource("pods")

// Placed is a projection of a pod: where it is, and how it is. UID and
// resourceVersion need no care: the library puts them back.
type Placed struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Node  string
	Phase corev1.PodPhase
}

// DeepCopyObject implements runtime.Object.
func (p *Placed) DeepCopyObject() apiruntime.Object {
	out := *p
	p.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

func place(pod *corev1.Pod) (*Placed, error) {
	return &Placed{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		Node:       pod.Spec.NodeName, Phase: pod.Status.Phase,
	}, nil
}

func run(ctx context.Context, env *exampleapp.Env) error {
	if env.Embedded() {
		for i := range 10_000 {
			if err := env.Server.Create(pod(cmp.Or(env.Namespace, metav1.NamespaceDefault), i)); err != nil {
				return err
			}
		}
	}
	opts := reflector.ResourceOptions{Namespace: env.Namespace}
	full, err := reflector.NewResource[*corev1.Pod](env.Config, pods, opts)
	if err != nil {
		return err
	}
	// Of these the server sends nothing else.
	metadata, err := reflector.NewResource[*metav1.PartialObjectMetadata](env.Config, pods, opts)
	if err != nil {
		return err
	}
	// Of these it sends everything; what is stored is what place returns.
	placed := reflector.Transform(full, place)
	if err := measure(ctx, env, "full objects", full); err != nil {
		return err
	}
	if err := measure(ctx, env, "metadata only", metadata); err != nil {
		return err
	}
	return measure(ctx, env, "projection", placed)
}

// measure fills a cache from a source, and prints how much memory it holds.
func measure[T informer.Object](ctx context.Context, env *exampleapp.Env, name string, source reflector.ListerWatcher[T]) error {
	before := heap()
	cache, err := informer.New(source, informer.Options[T]{
		Name: name, Logger: slog.New(slog.DiscardHandler), // what fails ends it, and is returned
		Reflector: reflector.Options{Policy: exampleapp.StopUnlessSynced},
	})
	if err != nil {
		return err
	}
	group, err := informer.NewGroup(cache)
	if err != nil {
		return err
	}
	return group.Run(ctx, func(context.Context) error { // called when the cache is synced
		n := cache.Snapshot().Len()
		held := max(heap()-before, 0)
		env.Transcript.Say(name, "%d objects: %.1f MB, %d B each", n, float64(held)/1e6, held/int64(max(n, 1)))
		return nil
	})
}

// heap returns the bytes that are in use.
func heap() int64 {
	var m runtime.MemStats
	for range 2 { // the second one frees what the first has let finalizers release
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// pod returns one such as a cluster has, of about 2 kB.
func pod(namespace string, i int) *corev1.Pod {
	env := make([]corev1.EnvVar, 12)
	for j := range env {
		env[j] = corev1.EnvVar{Name: fmt.Sprintf("VARIABLE_%d", j), Value: fmt.Sprintf("value %d of pod %d", j, i)}
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: fmt.Sprintf("pod-%d", i),
			Labels:      map[string]string{"app": "demo", "shard": fmt.Sprint(i % 100)},
			Annotations: map[string]string{"example.test/checksum": fmt.Sprintf("%064d", i)},
		},
		Spec:   corev1.PodSpec{NodeName: fmt.Sprintf("node-%d", i%50), Containers: []corev1.Container{{Name: "c", Image: "registry.k8s.io/pause:3.10", Env: env}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
}
