package indexer_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/indexer"
)

func TestBatchIsVisibleOnlyAfterCommit(t *testing.T) {
	t.Parallel()
	app := indexer.LabelIndex[*corev1.Pod]("app")
	ix, err := indexer.New(indexer.Options[*corev1.Pod]{Indexes: []indexer.IndexDefinition[*corev1.Pod]{app}})
	require.NoError(t, err)

	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "x", Labels: map[string]string{"app": "web"}}}
	key := types.NamespacedName{Namespace: "a", Name: "x"}
	b := ix.Batch()
	defer b.Discard()
	_, existed, err := b.Set(pod)
	require.NoError(t, err)
	require.False(t, existed)
	_, ok := ix.Get(key)
	require.False(t, ok)

	snap := b.Commit()
	got, ok := ix.Get(key)
	require.True(t, ok)
	require.Same(t, pod, got)
	seq, err := indexer.ByIndex(snap, app, "web")
	require.NoError(t, err)
	require.Equal(t, []*corev1.Pod{pod}, slices.Collect(seq))
}
