package e2e

import (
	"fmt"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"github.com/informerkit/informerkit/internal/verify/e2e/controlplane"
	"github.com/informerkit/informerkit/reflector"
)

// populate creates n ConfigMaps of about a kilobyte each.
func populate(t *testing.T, client kubernetes.Interface, n int) {
	t.Helper()
	const writers = 16
	filler := strings.Repeat("x", 1000)
	start := time.Now()
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := w; i < n; i += writers {
				object := configMap(fmt.Sprintf("object-%05d", i))
				object.Data = map[string]string{"filler": filler}
				if _, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
					assert.NoError(t, err)
					return
				}
			}
		})
	}
	wg.Wait()
	require.False(t, t.Failed())
	t.Logf("%d objects created in %v", n, time.Since(start).Round(time.Millisecond))
}

// liveHeap returns the bytes of what is reachable.
func liveHeap() uint64 {
	goruntime.GC()
	goruntime.GC() // what pools held before survives the first
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestReflectorSyncsFiftyThousandObjects(t *testing.T) {
	const n = 50_000
	cp := dedicated(t, controlplane.Options{})
	config := cp.Config()
	config.ContentType = runtime.ContentTypeProtobuf // half the time
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	populate(t, client, n)
	for _, encoding := range []reflector.Encoding{reflector.EncodingProtobuf, reflector.EncodingJSON} {
		for _, mode := range modes {
			t.Run(fmt.Sprintf("%s %s", encoding, mode), func(t *testing.T) {
				before := liveHeap()
				lw, err := reflector.NewResource[*corev1.ConfigMap](cp.Config(), configMapResource,
					reflector.ResourceOptions{Namespace: "default", Encoding: encoding})
				require.NoError(t, err)
				note, wait := states()
				start := time.Now()
				r, sink := startReflector(t, lw, reflector.Options{Sync: mode, OnStateChange: note})
				h := wait(t, "it did not sync", func(h reflector.Health) bool { return h.Synced })
				took := time.Since(start)
				after := liveHeap()
				require.Len(t, sink.versions(), n)
				assert.Equal(t, 1, sink.replaced)
				assert.NoError(t, h.LastError)
				assert.Zero(t, h.Quarantined)
				assert.Empty(t, r.Health().Reconnects)
				if mode == reflector.SyncWatchList {
					assert.Zero(t, h.Lists, "WatchList should do without LIST")
				}
				t.Logf("synced in %v, %d MB live", took.Round(time.Millisecond), (int64(after)-int64(before))>>20)
			})
		}
	}
}
