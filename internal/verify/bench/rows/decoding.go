package rows

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/informerkit/informerkit/internal/verify/bench"
)

// decodingAlone is the peer that shows how far the limit is: the decoders of Kubernetes on
// all cores, and nothing else. No bytes travel, and nothing is compared, stored or delivered.
const decodingAlone = "decoding alone"

// decodingRows compare a first sync, and a burst, with decoding the same objects alone.
func decodingRows() []bench.Row {
	const does = " The peer decodes the same bytes on all cores, from memory and with the decoders of Kubernetes, and does nothing else."
	var rows []bench.Row
	for _, w := range []wire{{false, true}, {true, false}, {true, true}} {
		row := compareSyncs(bench.Row{
			Work: fmt.Sprintf("first sync of 50k pods against decoding, %s", w),
			Does: "A first sync as above; a unit is a pod." + does,
			Per:  cluster, Rate: true, Want: bench.Target{Ratio: 0.5},
		}, w, false)
		row.Theirs = bench.Side{Who: decodingAlone, Setup: func() bench.Subject { return decodePods(w) }}
		rows = append(rows, row)
		if w.protobuf {
			rows = append(rows, mostOfSync(w))
		}
	}
	for _, name := range []string{"widgets", "nodes"} {
		row := compareBursts(bench.Row{
			Work: "burst of 30k watch events against decoding, " + bursts[name].name,
			Does: "A burst as above; a unit is an event." + does,
			Per:  burst, Rate: true, Want: bench.Target{Ratio: 0.5},
		}, name, nil)
		row.Theirs = bench.Side{Who: decodingAlone, Setup: func() bench.Subject { return decodeBurst(name) }}
		rows = append(rows, row)
	}
	return rows
}

// mostOfSync compares client-go's first sync with the least that a sync has to do, which stands in
// our place: the ratio is the most that our first sync can reach with the same decoders and server.
func mostOfSync(w wire) bench.Row {
	row := compareSyncs(bench.Row{
		Work: fmt.Sprintf("limit: receiving and decoding 50k pods in place of a first sync, %s", w),
		Does: "In the place of ours, one goroutine receives the same bytes from the same server and drops them, while all cores decode as above; " +
			"client-go syncs as above. The ratio is the most that a first sync can reach against client-go with the decoders of " +
			"Kubernetes, if all else took no time; a unit is a pod.",
		Per: cluster, Rate: true,
	}, w, false)
	row.Ours = bench.Side{Who: "receiving and decoding", Setup: func() bench.Subject {
		server := startServer(cluster, w.watchList)
		warmUp(server.url, w)
		decoding := decodePods(w)
		return bench.Subject{Run: func(n int) {
			var receiving sync.WaitGroup
			receiving.Go(func() { receivePods(server.url, w) })
			decoding.Run(n)
			receiving.Wait()
		}, After: server.stop}
	}}
	return row
}

// receivePods receives all pods and drops them.
func receivePods(url string, w wire) {
	resp := request(url, w)
	defer resp.Body.Close()
	const lastEvent = 1 << 10 // is shorter
	buf := make([]byte, lastEvent+1<<16)
	for {
		n, err := resp.Body.Read(buf[lastEvent:])
		if errors.Is(err, io.EOF) && !w.watchList {
			return
		}
		check(err)
		// A watch goes on after the initial events. The one that ends them may come in two parts.
		if end := buf[n : lastEvent+n]; w.watchList && bytes.Contains(end, []byte(metav1.InitialEventsAnnotationKey)) {
			return
		}
		copy(buf, buf[n:lastEvent+n])
	}
}

// decodePods decodes the pods of a first sync and keeps them.
func decodePods(w wire) bench.Subject {
	t := encodings()[w.protobuf].pod
	var pods []*corev1.Pod
	return bench.Subject{Run: func(int) {
		pods = make([]*corev1.Pod, cluster)
		onAllCores(cluster, func(i int, buf []byte) []byte {
			buf = t.append(buf[:0], i, i)
			pods[i] = &corev1.Pod{}
			if w.protobuf {
				check(pods[i].Unmarshal(buf))
			} else {
				check(k8sjson.Unmarshal(buf, pods[i]))
			}
			return buf
		})
		expect(len(pods), cluster)
		runtime.KeepAlive(pods)
	}}
}

// decodeBurst decodes the objects of a burst, and keeps as many as there are.
func decodeBurst(name string) bench.Subject {
	t := newTemplate(must(json.Marshal(bursts[name].object())))
	latest := make([]atomic.Pointer[any], burstObjects)
	return bench.Subject{Run: func(int) {
		onAllCores(burst, func(i int, buf []byte) []byte {
			buf = t.append(buf[:0], i%burstObjects, 1+i)
			var obj any
			if name == "nodes" {
				node := &corev1.Node{}
				check(k8sjson.Unmarshal(buf, node))
				obj = node
			} else {
				var fields map[string]any
				check(k8sjson.Unmarshal(buf, &fields))
				obj = fields
			}
			latest[i%burstObjects].Store(&obj)
			return buf
		})
	}}
}

// onAllCores calls f for 0 to n-1 on all cores. Each core has a buffer, which f may replace.
func onAllCores(n int, f func(i int, buf []byte) []byte) {
	const atOnce = 64
	var next atomic.Int64
	var working sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		working.Go(func() {
			var buf []byte
			for {
				end := int(next.Add(atOnce))
				for i := end - atOnce; i < min(end, n); i++ {
					buf = f(i, buf)
				}
				if end >= n {
					return
				}
			}
		})
	}
	working.Wait()
}
