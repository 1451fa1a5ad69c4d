package reflector_test

import (
	"crypto/sha256"
	"fmt"
	"hash/fnv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/internal/verify/scripted"
	"github.com/informerkit/informerkit/reflector"
)

const lowerHalf = "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')"

// shardedServer answers lists and watches of 40 objects, with or without the
// feature, and says so or not.
func shardedServer(t *testing.T, sharded, says bool, kind string) *rest.Config {
	answer := func(w httpWriter, r *httpRequest, _ int) {
		selector := r.URL.Query().Get("shardSelector")
		inLowerHalf := func(uid types.UID) bool {
			h := fnv.New64a()
			h.Write([]byte(uid))
			return h.Sum64() < 1<<63
		}
		w.Header().Set("Content-Type", "application/json")
		info := ""
		if says {
			info = fmt.Sprintf(`,"shardInfo":{"selector":%q}`, selector)
		}
		var items []string
		for i := range 40 {
			uid := types.UID(fmt.Sprintf("%x", sha256.Sum256([]byte{byte(i)})))
			if !sharded || inLowerHalf(uid) {
				items = append(items, fmt.Sprintf(`{"apiVersion":"v1","kind":%q,"metadata":{"name":"o%d","uid":%q}}`, kind, i, uid))
			}
		}
		if r.URL.Query().Get("watch") != "" {
			for _, item := range items {
				fmt.Fprintf(w, `{"type":"ADDED","object":%s}`, item)
			}
			return
		}
		fmt.Fprintf(w, `{"kind":"%sList","apiVersion":"v1","metadata":{"resourceVersion":"9"%s},"items":[%s]}`, kind, info, strings.Join(items, ","))
	}
	return (&scripted.Server{List: answer, Watch: answer}).Config(t)
}

// readShard lists and watches, and returns how many objects each has brought.
func readShard[T reflector.Object](t *testing.T, cfg *rest.Config, resource string) (listed, watched int, listErr, watchErr error) {
	lw, err := reflector.NewResource[T](cfg, schema.GroupVersionResource{Version: "v1", Resource: resource}, reflector.ResourceOptions{ShardSelector: lowerHalf})
	require.NoError(t, err)
	_, listErr = lw.List(t.Context(), reflector.Request{}, func(reflector.WatchEvent[T]) error { listed++; return nil })
	stream, err := lw.Watch(t.Context(), reflector.Request{})
	require.NoError(t, err)
	defer func() { require.NoError(t, stream.Close()) }()
	for {
		if _, watchErr = stream.Next(); watchErr != nil {
			return listed, watched, listErr, watchErr
		}
		watched++
	}
}

func TestAServerThatIgnoresTheShardSelectorIsAnError(t *testing.T) {
	t.Parallel()
	t.Run("sharded", func(t *testing.T) {
		t.Parallel()
		listed, watched, listErr, watchErr := readShard[*corev1.Pod](t, shardedServer(t, true, true, "Pod"), "pods")
		require.NoError(t, listErr)
		require.Equal(t, reflector.ClassClosed, reflector.Classify(watchErr))
		require.Equal(t, listed, watched)
		require.Greater(t, listed, 5)
		require.Less(t, listed, 35)
	})
	t.Run("ignored", func(t *testing.T) {
		t.Parallel()
		_, watched, listErr, watchErr := readShard[*corev1.Pod](t, shardedServer(t, false, false, "Pod"), "pods")
		require.Equal(t, reflector.ClassNotSharded, reflector.Classify(listErr))
		require.ErrorContains(t, listErr, "cannot list pods")
		require.ErrorContains(t, listErr, "the server ignores the shard selector "+lowerHalf)
		require.ErrorContains(t, listErr, "is its feature gate ShardedListAndWatch on?")
		require.Equal(t, reflector.ClassNotSharded, reflector.Classify(watchErr))
		require.Less(t, watched, 40)
	})
	t.Run("not stated for a built-in type", func(t *testing.T) {
		t.Parallel()
		_, _, listErr, _ := readShard[*corev1.Pod](t, shardedServer(t, true, false, "Pod"), "pods")
		require.Equal(t, reflector.ClassNotSharded, reflector.Classify(listErr))
		require.ErrorContains(t, listErr, "the list has no shardInfo")
	})
	t.Run("not stated for a custom resource", func(t *testing.T) {
		t.Parallel()
		listed, watched, listErr, watchErr := readShard[*unstructured.Unstructured](t, shardedServer(t, true, false, "Widget"), "widgets")
		require.NoError(t, listErr)
		require.Equal(t, reflector.ClassClosed, reflector.Classify(watchErr))
		require.Equal(t, listed, watched)
	})
	t.Run("ignored for a custom resource", func(t *testing.T) {
		t.Parallel()
		_, _, listErr, watchErr := readShard[*unstructured.Unstructured](t, shardedServer(t, false, false, "Widget"), "widgets")
		require.Equal(t, reflector.ClassNotSharded, reflector.Classify(listErr))
		require.Equal(t, reflector.ClassNotSharded, reflector.Classify(watchErr))
	})
}
