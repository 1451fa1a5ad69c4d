package rows

import (
	"context"
	"fmt"
	"net/http"

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

// burstRows are what happens when many objects change at once: a rollout, or a
// controller that touches all of its objects.
func burstRows() []bench.Row {
	var rows []bench.Row
	for _, name := range []string{"widgets", "nodes"} {
		rows = append(rows, compareBursts(bench.Row{
			Work: "burst of 30k watch events, " + bursts[name].name,
			Does: fmt.Sprintf("An informer of 1,000 objects has synced; then 30,000 changes of them come as fast as they can be read, JSON, %s, "+
				"from another process on the same machine, until a handler has received all; a unit is an event.", bursts[name].name),
			Per: burst, Rate: true, Quick: name == "widgets",
			Want: bench.Target{Ratio: 3},
		}, name, nil))
	}
	return rows
}

// compareBursts measures the time of a burst, or what a probe measures.
func compareBursts(row bench.Row, name string, probe func() (func(), func() float64)) bench.Row {
	row.Area = "sync"
	row.Fresh, row.Repeat, row.Rounds = true, 1, 3
	side := func(create func(*rest.Config, string) syncer) func() bench.Subject {
		return func() bench.Subject {
			server := startServerWith(fmt.Sprintf("-%s=%s", BurstFlag, name))
			s := create(&rest.Config{Host: server.url}, name)
			ctx, cancel := context.WithCancel(context.Background())
			all, n := make(chan struct{}), 0
			s.OnUpdate(func() {
				if n++; n == burst {
					close(all)
				}
			})
			var figure float64
			return bench.Subject{
				Before: func() {
					s.Run(ctx)
					expect(s.Len(), burstObjects)
				},
				Run: func(int) {
					before, value := func() {}, func() float64 { return 0 }
					if probe != nil {
						before, value = probe()
					}
					before()
					must(http.Post(server.url+"/burst", "", nil)).Body.Close()
					<-all
					figure = value()
				},
				Value: func() float64 { return figure / burst },
				After: func() {
					cancel()
					server.stop()
				},
			}
		}
	}
	row.Ours = bench.Side{Who: informerkit, Setup: side(newBurstSyncer)}
	row.Theirs = bench.Side{Who: clientGo, Setup: side(newClientGoBurstSyncer)}
	return row
}

func newBurstSyncer(cfg *rest.Config, name string) syncer {
	if name == "nodes" {
		return newJSONSyncer[*corev1.Node](cfg, bursts[name])
	}
	return newJSONSyncer[*unstructured.Unstructured](cfg, bursts[name])
}

func newJSONSyncer[T informer.Object](cfg *rest.Config, b objectsOfBurst) syncer {
	lw := must(reflector.NewResource[T](cfg, b.resource, reflector.ResourceOptions{Encoding: reflector.EncodingJSON}))
	return losslessSyncer[T]{typedSyncer[T]{must(informer.New(lw, informer.Options[T]{}))}}
}

// losslessSyncer is our side with a handler that receives each event, however far it is
// behind, as a handler of client-go does.
type losslessSyncer[T informer.Object] struct{ typedSyncer[T] }

func (s losslessSyncer[T]) OnUpdate(f func()) {
	_ = must(s.inf.AddHandler(informer.HandlerFuncs[T]{UpdateFunc: func(_, _ T) { f() }},
		informer.HandlerOptions{Overflow: informer.Lossless}))
}

func newClientGoBurstSyncer(cfg *rest.Config, name string) syncer {
	indexers := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	cfg.ContentType = "application/json"
	if name == "nodes" {
		return clientGoSyncer{coreinformers.NewNodeInformer(must(kubernetes.NewForConfig(cfg)), 0, indexers)}
	}
	client := must(dynamic.NewForConfig(cfg))
	return clientGoSyncer{dynamicinformer.NewFilteredDynamicInformer(client, bursts[name].resource, "", 0, indexers, nil).Informer()}
}
