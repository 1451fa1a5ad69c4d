package rows

import (
	"context"
	"fmt"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/intern"
	"github.com/informerkit/informerkit/internal/verify/bench"
	"github.com/informerkit/informerkit/reflector"
)

// interned is our side with equal parts stored once.
const interned = "informerkit interned"

// sharedHeapRows are what a cache keeps of 50,000 objects if equal parts are stored once.
func sharedHeapRows() []bench.Row {
	var rows []bench.Row
	for _, c := range []struct {
		name  string
		ratio float64
	}{{"pods", 2.5}, {"widgets", 2.5}, {"configmaps", 1 / 1.03}} {
		p := populations[c.name]
		rows = append(rows, compareInterning(bench.Row{
			Work:    "heap per object, equal parts shared, " + p.name,
			Does:    fmt.Sprintf("An informer with a namespace index that shares equal parts has synced 50,000 %s, by WatchList, from another process; what is on the heap for one.", p.name),
			Measure: bench.Memory, Per: cluster, Want: bench.Target{Ratio: c.ratio},
		}, c.name, heapAfter, clientGo))
	}
	return rows
}

// internRows are what the sharing of equal parts costs.
func internRows() []bench.Row {
	var rows []bench.Row
	for _, c := range []struct {
		peer  string
		ratio float64
	}{{clientGo, 1}, {informerkit, 0.8}} {
		for _, name := range []string{"pods", "widgets"} {
			rows = append(rows, compareInterning(bench.Row{
				Area: "intern", Work: fmt.Sprintf("processor time of a first sync against %s, %s", c.peer, populations[name].name),
				Does:    "The processor time of that first sync with equal parts shared, per object; the peer shares nothing.",
				Measure: bench.Latency, Per: cluster, Want: bench.Target{Ratio: c.ratio},
			}, name, cpuOf, c.peer))
		}
	}
	return rows
}

// heapAfter measures what is reachable after a sync.
func heapAfter() (before func(), value func() float64) {
	return func() {}, reachable
}

// cpuOf measures the processor time of a sync.
func cpuOf() (before func(), value func() float64) {
	used := func() float64 {
		var u syscall.Rusage
		check(syscall.Getrusage(syscall.RUSAGE_SELF, &u))
		return float64(u.Utime.Nano() + u.Stime.Nano())
	}
	var start float64
	return func() { start = used() }, func() float64 { return used() - start }
}

// compareInterning measures a first sync by a probe.
func compareInterning(row bench.Row, population string, probe func() (func(), func() float64), peer string) bench.Row {
	row.Fresh, row.Repeat, row.Rounds = true, 1, 3
	side := func(create func(*rest.Config) syncer) func() bench.Subject {
		return func() bench.Subject {
			server := startServerWith(fmt.Sprintf("-%s=%s", PopulationFlag, population))
			s := create(&rest.Config{Host: server.url})
			ctx, cancel := context.WithCancel(context.Background())
			sync := func() {
				s.Run(ctx)
				expect(s.Len(), cluster)
			}
			var figure float64
			return bench.Subject{
				Run: func(int) {
					before, value := probe()
					before()
					sync()
					figure = value()
				},
				Value: func() float64 { return figure / cluster },
				After: func() {
					cancel()
					server.stop()
				},
			}
		}
	}
	row.Ours = bench.Side{Who: interned, Setup: side(func(cfg *rest.Config) syncer {
		return newPopulationSyncer(cfg, population, intern.NewPool())
	})}
	row.Theirs = bench.Side{Who: peer, Setup: side(func(cfg *rest.Config) syncer {
		if peer == informerkit {
			return newPopulationSyncer(cfg, population, nil)
		}
		return newClientGoPopulationSyncer(cfg, population)
	})}
	return row
}

// typedSyncer is our side for any type of objects.
type typedSyncer[T informer.Object] struct{ inf *informer.Informer[T] }

func (s typedSyncer[T]) Run(ctx context.Context) {
	go func() { check(s.inf.Run(ctx)) }()
	<-s.inf.Synced()
}

func (s typedSyncer[T]) OnUpdate(f func()) {
	_ = must(s.inf.AddHandler(informer.HandlerFuncs[T]{UpdateFunc: func(_, _ T) { f() }}, informer.HandlerOptions{}))
}

func (s typedSyncer[T]) Len() int { return s.inf.Snapshot().Len() }

func newPopulationSyncer(cfg *rest.Config, name string, pool *intern.Pool) syncer {
	switch p := populations[name]; name {
	case "pods":
		return newTypedSyncer[*corev1.Pod](cfg, p, pool)
	case "configmaps":
		return newTypedSyncer[*corev1.ConfigMap](cfg, p, pool)
	default:
		return newTypedSyncer[*unstructured.Unstructured](cfg, p, pool)
	}
}

func newTypedSyncer[T informer.Object](cfg *rest.Config, p objectsOf, pool *intern.Pool) syncer {
	lw := must(reflector.NewResource[T](cfg, p.resource, reflector.ResourceOptions{}))
	return typedSyncer[T]{must(informer.New(lw, informer.Options[T]{
		Transform: intern.Transform[T](pool),
	}))}
}

func newClientGoPopulationSyncer(cfg *rest.Config, name string) syncer {
	indexers := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	if name == "widgets" {
		client := must(dynamic.NewForConfig(cfg))
		return clientGoSyncer{dynamicinformer.NewFilteredDynamicInformer(client, populations[name].resource, "", 0, indexers, nil).Informer()}
	}
	cfg.ContentType = "application/vnd.kubernetes.protobuf"
	cfg.AcceptContentTypes = cfg.ContentType + ",application/json"
	client := must(kubernetes.NewForConfig(cfg))
	if name == "pods" {
		return clientGoSyncer{coreinformers.NewPodInformer(client, "", 0, indexers)}
	}
	return clientGoSyncer{coreinformers.NewConfigMapInformer(client, "", 0, indexers)}
}
