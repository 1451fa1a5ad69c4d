package rows

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/internal/verify/bench"
	"github.com/informerkit/informerkit/reflector"
)

// cluster is the number of pods of a first sync.
const cluster = 50_000

// wire is how the pods come.
type wire struct{ protobuf, watchList bool }

func (w wire) String() string {
	name := "JSON"
	if w.protobuf {
		name = "protobuf"
	}
	if w.watchList {
		return name + ", WatchList"
	}
	return name + ", LIST"
}

// syncRows are the amounts of memory of first syncs and relists, bursts, and what limits them.
func syncRows() []bench.Row {
	return slices.Concat(burstRows(), decodingRows(), []bench.Row{
		compareSyncs(bench.Row{
			Work:    "peak heap of a first sync, JSON, LIST",
			Does:    syncDoes + "; the most that was on the heap, garbage included.",
			Measure: bench.Memory,
			Want:    bench.Target{Ratio: 1 / 0.6},
		}, wire{false, false}, false),
		compareSyncs(bench.Row{
			Work:    "relist, 1% changed: peak over steady heap",
			Does:    "A second list of 50,000 pods in protobuf, in which one in a hundred has changed: the most that was reachable at any time, over what is afterwards.",
			Measure: bench.Quotient,
			Want:    bench.Target{Figure: bench.AtMost(1.10)},
		}, wire{true, false}, true),
	})
}

const syncDoes = "An informer with a namespace index is started on 50,000 pods of 2.5 KB JSON, served by another process on the same machine"

// syncTimeRows are first syncs by each encoding and kind of list.
func syncTimeRows() []bench.Row {
	var rows []bench.Row
	for _, c := range []struct {
		wire
		ratio float64
	}{{wire{false, false}, 1.5}, {wire{false, true}, 3.6}, {wire{true, false}, 1.5}, {wire{true, true}, 1.5}} {
		rows = append(rows, compareSyncs(bench.Row{
			Work: fmt.Sprintf("first sync of 50k pods, %s", c.wire),
			Does: syncDoes + "; a unit is a pod.",
			Per:  cluster, Rate: true, Quick: c.protobuf && c.watchList, Want: bench.Target{Ratio: c.ratio},
		}, c.wire, false))
	}
	return rows
}

// syncPeakRow is what a first sync needs for a moment.
func syncPeakRow() bench.Row {
	return compareSyncs(bench.Row{
		Work:    "first sync: peak over steady heap",
		Does:    syncDoes + ", in protobuf with LIST: the most that was reachable at any time, over what is afterwards; garbage is collected ten times as often as usual to see it.",
		Measure: bench.Quotient,
		Want:    bench.Target{Figure: bench.AtMost(1.15)},
	}, wire{true, false}, false)
}

// syncer is what both sides can do.
type syncer interface {
	// Run syncs, and goes on until ctx ends.
	Run(ctx context.Context)
	// OnUpdate calls f for every update that changes something.
	OnUpdate(f func())
	// Len is the number of objects in the cache.
	Len() int
}

func compareSyncs(row bench.Row, w wire, relist bool) bench.Row {
	row.Area = "sync"
	row.Fresh, row.Repeat, row.Rounds = true, 1, 3
	if row.Measure == bench.Time {
		row.Rounds = 0 // how fast a sync is depends on how it happens to meet the server
	}
	side := func(create func(*rest.Config, wire) syncer) func() bench.Subject {
		return func() bench.Subject {
			server := startServer(cluster, w.watchList)
			s := create(&rest.Config{Host: server.url}, w)
			warmUp(server.url, w)
			ctx, cancel := context.WithCancel(context.Background())
			subject := bench.Subject{Run: func(int) {
				s.Run(ctx)
				expect(s.Len(), cluster)
			}}
			if relist {
				subject = relisting(ctx, s, server.url)
			}
			subject.After = func() {
				cancel()
				server.stop()
			}
			return observed(subject, row.Measure)
		}
	}
	row.Ours = bench.Side{Who: informerkit, Setup: side(newOurSyncer)}
	row.Theirs = bench.Side{Who: clientGo, Setup: side(newClientGoSyncer)}
	return row
}

// warmUp lets the server build its responses.
func warmUp(url string, w wire) {
	resp := request(url, w)
	_, _ = resp.Body.Read(make([]byte, 1)) // the remaining bytes are ready, too
	resp.Body.Close()
}

// request asks for all pods.
func request(url string, w wire) *http.Response {
	query := "/api/v1/pods"
	if w.watchList {
		query += "?watch=1&sendInitialEvents=true"
	}
	req := must(http.NewRequest(http.MethodGet, url+query, nil))
	if w.protobuf {
		req.Header.Set("Accept", "application/vnd.kubernetes.protobuf")
	}
	return must(http.DefaultTransport.RoundTrip(req))
}

// relisting is a second list after a first one.
func relisting(ctx context.Context, s syncer, url string) bench.Subject {
	updates := make(chan struct{}, cluster)
	return bench.Subject{
		Before: func() {
			s.OnUpdate(func() { updates <- struct{}{} })
			s.Run(ctx)
			_ = reachable() // collects the garbage of the first list
		},
		Run: func(int) {
			must(http.Post(url+"/relist", "", nil)).Body.Close()
			for range cluster / 100 {
				<-updates
			}
			expect(s.Len(), cluster)
		},
	}
}

// observed adds the measuring of memory to a subject, if the row measures it.
func observed(s bench.Subject, m bench.Measure) bench.Subject {
	run := s.Run
	var peak, steady float64
	switch m {
	case bench.Memory:
		s.Run = func(n int) {
			peak = highest(heapInUse, func() { run(n) })
		}
		s.Value = func() float64 { return peak }
	case bench.Quotient:
		s.Run = func(n int) {
			defer debug.SetGCPercent(debug.SetGCPercent(10))
			peak = highest(heapReachable, func() { run(n) })
			steady = reachable()
		}
		s.Value = func() float64 { return max(peak, steady) / steady }
	}
	return s
}

type ourSyncer struct {
	inf *informer.Informer[*corev1.Pod]
}

func newOurSyncer(cfg *rest.Config, w wire) syncer {
	opts := reflector.ResourceOptions{Encoding: reflector.EncodingJSON}
	if w.protobuf {
		opts.Encoding = reflector.EncodingProtobuf
	}
	lw := must(reflector.NewResource[*corev1.Pod](cfg, corev1.SchemeGroupVersion.WithResource("pods"), opts))
	return ourSyncer{must(informer.New(lw, informer.Options[*corev1.Pod]{}))}
}

func (s ourSyncer) Run(ctx context.Context) {
	go func() { check(s.inf.Run(ctx)) }()
	<-s.inf.Synced()
}

func (s ourSyncer) OnUpdate(f func()) {
	_ = must(s.inf.AddHandler(informer.HandlerFuncs[*corev1.Pod]{UpdateFunc: func(_, _ *corev1.Pod) { f() }},
		informer.HandlerOptions{Overflow: informer.Lossless}))
}

func (s ourSyncer) Len() int { return s.inf.Snapshot().Len() }

type clientGoSyncer struct{ inf cache.SharedIndexInformer }

func newClientGoSyncer(cfg *rest.Config, w wire) syncer {
	if w.protobuf {
		cfg.ContentType = "application/vnd.kubernetes.protobuf"
		cfg.AcceptContentTypes = cfg.ContentType + ",application/json"
	} else {
		cfg.ContentType = "application/json"
	}
	client := must(kubernetes.NewForConfig(cfg))
	return clientGoSyncer{coreinformers.NewPodInformer(client, "", 0,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})}
}

func (s clientGoSyncer) Run(ctx context.Context) {
	go s.inf.RunWithContext(ctx)
	<-s.inf.HasSyncedChecker().Done()
}

func (s clientGoSyncer) OnUpdate(f func()) {
	// After a relist client-go delivers an update for every object; those that change
	// nothing do not count.
	_ = must(s.inf.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(before, after any) {
		if before.(metav1.Object).GetResourceVersion() != after.(metav1.Object).GetResourceVersion() {
			f()
		}
	}}))
}

func (s clientGoSyncer) Len() int { return len(s.inf.GetStore().ListKeys()) }
