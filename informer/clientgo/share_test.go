package clientgo_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	upstream "k8s.io/client-go/tools/cache"

	"github.com/informerkit/informerkit/informer/clientgo"
)

// ownProcess runs a test alone in a process with one more variable in its environment: what
// it is about is decided for a process. It returns true in that process.
func ownProcess(t *testing.T, env string) (inside bool, out string, err error) {
	t.Helper()
	if os.Getenv("CLIENTGO_TEST_PROCESS") == t.Name() {
		return true, "", nil
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), "CLIENTGO_TEST_PROCESS="+t.Name(), env)
	text, err := cmd.CombinedOutput()
	return false, string(text), err
}

func TestEqualPartsAreSharedByAllInformers(t *testing.T) {
	t.Parallel()
	inside, out, err := ownProcess(t, "KUBE_FEATURE_WatchListClient=false") // which is honoured, or there would be no list
	if !inside {
		require.NoError(t, err, out)
		return
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	// Ten informers of one pod each, with an annotation of a megabyte.
	fill := func(client func(*upstream.ListWatch) upstream.ListerWatcher) (grown uint64) {
		before := heap()
		synctest.Test(t, func(t *testing.T) {
			var all []upstream.SharedIndexInformer
			for i := range 10 {
				lw, _ := fakeSource()
				source := *lw.(fakeClient).ListWatch
				source.ListWithContextFunc = listOf(func() *corev1.Pod {
					p := pod("a", fmt.Sprint(i), "n1")
					p.Annotations = map[string]string{"large": strings.Repeat("x", 1<<20)}
					return p
				})
				inf := clientgo.NewSharedIndexInformer(client(&source), &corev1.Pod{}, 0, nil)
				stop := start(t, inf)
				stop()
				require.Len(t, inf.GetStore().List(), 1)
				all = append(all, inf)
			}
			grown = heap() - before
			runtime.KeepAlive(all)
		})
		return grown
	}
	aServer := func(lw *upstream.ListWatch) upstream.ListerWatcher { return lw }
	aFake := func(lw *upstream.ListWatch) upstream.ListerWatcher { return fakeClient{lw} }
	assert.Greater(t, fill(aServer), uint64(9<<20), "nothing is shared by default")
	clientgo.ShareEqualParts()
	clientgo.ShareEqualParts() // again: the same pool
	assert.Less(t, fill(aServer), uint64(3<<20))
	assert.Greater(t, fill(aFake), uint64(9<<20), "the objects of a fake client may be the test's own")
}

// A program that modifies an object of a cache ends, as with client-go.
func TestMutationDetectorEndsTheProcess(t *testing.T) {
	t.Parallel()
	inside, out, err := ownProcess(t, "KUBE_CACHE_MUTATION_DETECTOR=true")
	if !inside {
		require.Error(t, err)
		require.Contains(t, out, "CACHE *v1.Pod[0] ALTERED!")
		return
	}
	synctest.Test(t, func(t *testing.T) {
		lw, _ := fakeSource(pod("a", "x", "n1"))
		inf := clientgo.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, nil)
		start(t, inf)
		obj, _, err := inf.GetStore().GetByKey("a/x")
		require.NoError(t, err)
		obj.(*corev1.Pod).Spec.NodeName = "another"
		time.Sleep(time.Hour)
		t.Error("nothing was detected")
	})
}

func listOf(item func() *corev1.Pod) upstream.ListWithContextFunc {
	return func(_ context.Context, _ metav1.ListOptions) (k8sruntime.Object, error) {
		return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: []corev1.Pod{*item()}}, nil
	}
}
