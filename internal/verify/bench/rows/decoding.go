package rows

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	k8sjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/informerkit/informerkit/internal/verify/bench"
)

// decodingAlone is the peer that shows how far the limit is: the decoders of Kubernetes on
// all cores, and nothing else. No bytes travel, and nothing is compared, stored or delivered.
const decodingAlone = "decoding alone"

// decodingRows compare first syncs with decoding the same objects alone.
func decodingRows() []bench.Row {
	var rows []bench.Row
	for _, w := range []wire{{false, false}, {false, true}, {true, false}, {true, true}} {
		row := compareSyncs(bench.Row{
			Work: fmt.Sprintf("first sync of 50k pods against decoding, %s", w),
			Does: "A first sync as above; the peer decodes the same bytes on all cores, from memory and with the decoders of Kubernetes, and does nothing else. A unit is a pod.",
			Per:  cluster, Rate: true, Want: bench.Target{Ratio: 0.5},
		}, w, false)
		row.Rounds = 3
		row.Theirs = bench.Side{Who: decodingAlone, Setup: func() bench.Subject { return decodePods(w) }}
		rows = append(rows, row)
	}
	return rows
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
