package informertest_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/informer/informertest"
)

// A shard selector is honoured exactly if the gate is on; a list says so.
func TestShardSelectorsAreHonouredIfTheGateIsOn(t *testing.T) {
	t.Parallel()
	s := informertest.Start(t, informertest.Options{ShardedListAndWatch: true})
	for i := range 40 {
		require.NoError(t, s.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint(i)}}))
	}
	const lower = "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')"
	const upper = "shardRange(object.metadata.uid,'0x8000000000000000','0x10000000000000000')"
	list := func(selector string) (*corev1.ConfigMapList, error) {
		out := &corev1.ConfigMapList{}
		return out, core(t, s).Get().Namespace("default").Resource("configmaps").Param("shardSelector", selector).Do(t.Context()).Into(out)
	}
	seen := map[string]int{}
	for _, selector := range []string{lower, upper} {
		l, err := list(selector)
		require.NoError(t, err)
		require.NotNil(t, l.ShardInfo)
		assert.Greater(t, len(l.Items), 5)
		for _, cm := range l.Items {
			seen[cm.Name]++
		}
	}
	assert.Len(t, seen, 40)
	l, err := list(lower + " || " + upper)
	require.NoError(t, err)
	assert.Len(t, l.Items, 40)
	for _, wrong := range []string{"x", lower + " && " + upper, "shardRange(object.metadata.name, '0x0000000000000000', '0x8000000000000000')", "shardRange(object.metadata.uid, '0x8000000000000000', '0x8000000000000000')"} {
		_, err := list(wrong)
		assert.True(t, apierrors.IsBadRequest(err), "%s: %v", wrong, err)
	}
	s.SetShardedListAndWatch(false)
	l, err = list(lower)
	require.NoError(t, err)
	assert.Nil(t, l.ShardInfo)
	assert.Len(t, l.Items, 40)
}
