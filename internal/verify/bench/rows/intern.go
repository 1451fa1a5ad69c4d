package rows

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
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
	"github.com/informerkit/informerkit/internal/verify/bench"
	"github.com/informerkit/informerkit/reflector"
)

// interned is our side with equal parts stored once.
const interned = "informerkit interned"

func internRows() []bench.Row {
	var rows []bench.Row
	for _, name := range []string{"pods", "widgets", "configmaps"} {
		p := populations[name]
		does := fmt.Sprintf("An informer with a namespace index and an InternPool has synced 50,000 %s, by WatchList, from another process; ", p.name)
		add := func(work, does string, m bench.Measure, probe func() (before func(), value func() float64), want bench.Target, peer string) {
			rows = append(rows, compareInterning(bench.Row{
				Area: "intern", Work: work + ", " + p.name, Does: does, Measure: m, Per: cluster, Want: want,
			}, name, probe, peer))
		}
		target := func(alike, other float64) bench.Target {
			if name == "configmaps" {
				return bench.Target{Ratio: other}
			}
			return bench.Target{Ratio: alike}
		}
		if name == "configmaps" {
			p.name += " that have nothing in common"
		}
		const least = 1 / 1.03
		add("heap per object", does+"what is on the heap for one.", bench.Memory, heapAfter, target(2.5, least), clientGo)
		add("heap per object against no pool", does+"what is on the heap for one, beside the same without a pool.", bench.Memory, heapAfter, target(0, least), informerkit)
		add("resident memory", does+"what is resident of the process, garbage included, per object.", bench.Memory, residentAfter, bench.Target{}, clientGo)
		add("peak of the heap", does+"the most that was on the heap during that, garbage included, per object.", bench.Memory, nil, bench.Target{}, clientGo)
		add("processor time of the first sync", does+"the processor time of that, per object.", bench.Latency, cpuOf, target(1, 0), clientGo)
		add("processor time of the first sync against no pool", does+"the processor time of that, per object, beside the same without a pool.", bench.Latency, cpuOf, bench.Target{Ratio: 0.8}, informerkit)
	}
	return rows
}

// heapAfter measures what is reachable after a sync.
func heapAfter() (before func(), value func() float64) {
	return func() {}, reachable
}

// residentAfter measures the memory of the process that is resident after a sync.
func residentAfter() (before func(), value func() float64) {
	return func() {}, func() float64 {
		_ = reachable()
		raw, err := os.ReadFile("/proc/self/statm")
		if err != nil {
			return 0 // another system
		}
		pages := must(strconv.Atoi(string(bytes.Fields(raw)[1])))
		return float64(pages * os.Getpagesize())
	}
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

// compareInterning measures a first sync by a probe; nil is the peak of the heap.
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
					if probe == nil {
						figure = highest(heapInUse, sync)
						return
					}
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
		return newPopulationSyncer(cfg, population, reflector.NewInternPool())
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

func newPopulationSyncer(cfg *rest.Config, name string, pool *reflector.InternPool) syncer {
	switch p := populations[name]; name {
	case "pods":
		return newTypedSyncer[*corev1.Pod](cfg, p, pool)
	case "configmaps":
		return newTypedSyncer[*corev1.ConfigMap](cfg, p, pool)
	default:
		return newTypedSyncer[*unstructured.Unstructured](cfg, p, pool)
	}
}

func newTypedSyncer[T informer.Object](cfg *rest.Config, p objectsOf, pool *reflector.InternPool) syncer {
	lw := must(reflector.NewResource[T](cfg, p.resource, reflector.ResourceOptions{}))
	return typedSyncer[T]{must(informer.New(lw, informer.Options[T]{
		InternPool: pool,
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
