package rows

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"

	corev1 "k8s.io/api/core/v1"
	k8sjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/informerkit/informerkit/informer/intern"
	"github.com/informerkit/informerkit/internal/verify/bench"
	"github.com/informerkit/informerkit/internal/verify/measure"
)

const (
	// interned is our side with equal parts stored once.
	interned = "informerkit interned"
	// decodingAlone is the peer that shows how far the limit is: the decoders of Kubernetes on
	// all cores, and nothing else. No bytes travel, and nothing is compared, stored or delivered.
	decodingAlone = "decoding alone"

	syncDoes = "An informer with a namespace index is started on 50,000 pods of 2.5 KB JSON, served by another process on the same machine"
)

// The ways in which typical pods come.
var (
	jsonList          = Served{"typical", false, false}
	jsonWatchList     = Served{"typical", false, true}
	protobufList      = Served{"typical", true, false}
	protobufWatchList = Served{"typical", true, true}
)

// syncTimeRows are first syncs by each encoding and kind of list.
func syncTimeRows() []bench.Row {
	var rows []bench.Row
	for _, c := range []struct {
		what  Served
		ratio float64
	}{{jsonList, 1.5}, {jsonWatchList, 3.6}, {protobufList, 1.5}, {protobufWatchList, 1.5}} {
		rows = append(rows, firstSync(c.what, nil).row(bench.Row{
			Work: fmt.Sprintf("first sync of 50k pods, %s", c.what), Does: syncDoes + "; a unit is a pod.",
			Per: cluster, Rate: true, Quick: c.what == protobufWatchList, Want: bench.Target{Ratio: c.ratio},
			Limit: fmt.Sprintf("sync: first sync of 50k pods against decoding, %s", c.what),
		}))
	}
	return rows
}

// syncPeakRow is what a first sync needs for a moment.
func syncPeakRow() bench.Row {
	return firstSync(protobufList, peakOverSteady).row(bench.Row{
		Work:    "first sync: peak over steady heap",
		Does:    syncDoes + ", in protobuf with LIST: the most that was reachable at any time, over what is afterwards; garbage is collected ten times as often as usual to see it.",
		Measure: bench.Quotient, Rounds: 3,
		Want: bench.Target{Figure: bench.AtMost(1.15)},
	})
}

// sharedHeapRows are what a cache keeps of 50,000 objects if equal parts are stored once.
func sharedHeapRows() []bench.Row {
	var rows []bench.Row
	for _, c := range []struct {
		name  string
		ratio float64
	}{{"pods", 2.5}, {"widgets", 2.5}, {"configmaps", 1 / 1.03}} {
		name := collections[c.name].name
		rows = append(rows, firstSync(populationOf(c.name), heapAfter).interned(clientGo, bench.Row{
			Work:    "heap per object, equal parts shared, " + name,
			Does:    fmt.Sprintf("An informer with a namespace index that shares equal parts has synced 50,000 %s, by WatchList, from another process; what is on the heap for one.", name),
			Measure: bench.Memory, Per: cluster, Want: bench.Target{Ratio: c.ratio},
		}))
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
			rows = append(rows, firstSync(populationOf(name), cpuOf).interned(c.peer, bench.Row{
				Area: "intern", Work: fmt.Sprintf("processor time of a first sync against %s, %s", c.peer, collections[name].name),
				Does:    "The processor time of that first sync with equal parts shared, per object; the peer shares nothing.",
				Measure: bench.Latency, Per: cluster, Want: bench.Target{Ratio: c.ratio},
			}))
		}
	}
	return rows
}

// populationOf is a collection as its clients read it by default.
func populationOf(name string) Served { return Served{name, name != "widgets", true} }

// relistRows are what it costs to read the collection again, of which little has
// changed: after each restart of an API server every client does that.
func relistRows() []bench.Row {
	var rows []bench.Row
	for _, what := range []Served{jsonList, protobufList} {
		rows = append(rows, syncWork{what, "Relist", cluster / 100, cpuOf}.row(bench.Row{
			Work: fmt.Sprintf("relist, 1%% changed: processor time, %s", what),
			Does: fmt.Sprintf("An informer that has synced 50,000 pods of 2.5 KB JSON lists them again (%s), because its watch has expired; "+
				"one in a hundred has changed; the processor time until the last change's update, per object.", what),
			Measure: bench.Latency, Per: cluster, Want: bench.Target{Ratio: 3},
		}))
	}
	return rows
}

// syncRows are bursts, and what limits first syncs.
func syncRows() []bench.Row { return slices.Concat(burstRows(), decodingRows()) }

// burstRows are what happens when many objects change at once: a rollout, or a
// controller that touches all of its objects.
func burstRows() []bench.Row {
	var rows []bench.Row
	for _, name := range []string{"burst-widgets", "burst-nodes"} {
		rows = append(rows, syncWork{Served{name, false, false}, "Burst", burst, nil}.row(bench.Row{
			Area: "sync", Work: "burst of 30k watch events, " + collections[name].name,
			Does: fmt.Sprintf("An informer of 1,000 objects has synced; then 30,000 changes of them come as fast as they can be read, JSON, %s, "+
				"from another process on the same machine, until a handler has received all; a unit is an event.", collections[name].name),
			Per: burst, Rate: true, Rounds: 3, Quick: name == "burst-widgets",
			Want: bench.Target{Ratio: 3},
		}))
	}
	return rows
}

// decodingRows compare first syncs with decoding the same objects alone.
func decodingRows() []bench.Row {
	var rows []bench.Row
	for _, what := range []Served{jsonList, jsonWatchList, protobufList, protobufWatchList} {
		row := firstSync(what, nil).row(bench.Row{
			Area: "sync", Work: fmt.Sprintf("first sync of 50k pods against decoding, %s", what),
			Does: "A first sync as above; the peer decodes the same bytes on all cores, from memory and with the decoders of Kubernetes, and does nothing else. A unit is a pod.",
			Per:  cluster, Rate: true, Rounds: 3, Want: bench.Target{Ratio: 0.5},
		})
		row.Theirs = bench.Side{Who: decodingAlone, Setup: func() bench.Subject { return decodePods(what.Protobuf) }}
		rows = append(rows, row)
	}
	return rows
}

// decodePods decodes as many pods as a first sync, and keeps them.
func decodePods(protobuf bool) bench.Subject {
	some := make([][]byte, 1000)
	for i := range some {
		some[i] = encodingOf(protobuf).object(typicalPod(i))
	}
	return times(func() {
		pods := make([]*corev1.Pod, cluster)
		onAllCores(cluster, func(i int) {
			pods[i] = &corev1.Pod{}
			if protobuf {
				check(pods[i].Unmarshal(some[i%len(some)]))
			} else {
				check(k8sjson.Unmarshal(some[i%len(some)], pods[i]))
			}
		})
		runtime.KeepAlive(pods)
	})
}

// syncWork is what an informer of another process's objects does, in a process of its own.
type syncWork struct {
	what Served
	// after is the method of the server that is called when the informer has synced, and updates is how many
	// the handler then receives. Without it, it is the first sync that is measured.
	after   string
	updates int
	// measure runs it and returns what it has measured; nil if the time counts.
	measure func(run func()) float64
}

func firstSync(what Served, measure func(run func()) float64) syncWork {
	return syncWork{what: what, measure: measure}
}

// row fills in the sides of a row.
func (w syncWork) row(row bench.Row) bench.Row {
	row.Fresh, row.Repeat = true, 1
	row.Ours = bench.Side{Who: informerkit, Setup: w.side(row.Per, func(url string) syncer { return newOurSyncer(url, w.what, nil) })}
	row.Theirs = bench.Side{Who: clientGo, Setup: w.side(row.Per, func(url string) syncer { return newClientGoSyncer(url, w.what) })}
	return row
}

// interned is row with equal parts shared on our side, and a peer.
func (w syncWork) interned(peer string, row bench.Row) bench.Row {
	row.Rounds = 3
	row = w.row(row)
	if peer == informerkit {
		row.Theirs = row.Ours
	}
	row.Ours = bench.Side{Who: interned, Setup: w.side(row.Per, func(url string) syncer { return newOurSyncer(url, w.what, intern.NewPool()) })}
	return row
}

func (w syncWork) side(per int, create func(url string) syncer) func() bench.Subject {
	return func() bench.Subject {
		server := startServer(w.what)
		s, n := create(server.url), collections[w.what.Collection].n
		ctx, cancel := context.WithCancel(context.Background())
		first := func() {
			s.Run(ctx)
			expect(s.Len(), n)
		}
		subject := bench.Subject{After: func() {
			cancel()
			server.stop()
		}}
		work := first
		if w.after != "" {
			received := make(chan struct{}, w.updates)
			s.OnUpdate(func() { received <- struct{}{} })
			subject.Before = func() {
				first()
				_ = reachable() // collects the garbage of the first list
			}
			work = func() {
				server.do(w.after)
				for range w.updates {
					<-received
				}
				expect(s.Len(), n)
			}
		}
		var figure float64
		subject.Run = func(int) {
			if w.measure == nil {
				work()
				return
			}
			figure = w.measure(work) / float64(max(1, per))
		}
		subject.Value = func() float64 { return figure }
		return subject
	}
}

// heapAfter measures what is reachable afterwards.
func heapAfter(run func()) float64 {
	run()
	return reachable()
}

// cpuOf measures the processor time.
func cpuOf(run func()) float64 {
	before := measure.CPUTime()
	run()
	return float64(measure.CPUTime() - before)
}

// peakOverSteady measures the most that was reachable, over what is afterwards.
func peakOverSteady(run func()) float64 {
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	peak := highestReachable(run)
	steady := reachable()
	return max(peak, steady) / steady
}
