package wire

import (
	"fmt"
	"hash/fnv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

const (
	lowerHalf = "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')"
	upperHalf = "shardRange(object.metadata.uid, '0x8000000000000000', '0x10000000000000000')"
)

func TestShardSelectorsSelectByHash(t *testing.T) {
	t.Parallel()
	lower, err := parseShard(lowerHalf)
	require.NoError(t, err)
	upper, err := parseShard(upperHalf)
	require.NoError(t, err)
	all, err := parseShard(lowerHalf + " || " + upperHalf)
	require.NoError(t, err)
	byNamespace, err := parseShard(`shardRange( object.metadata.namespace,"0x0000000000000000","0x8000000000000000")`)
	require.NoError(t, err)
	n := 0
	for i := range 200 {
		o := &metav1.ObjectMeta{UID: types.UID(fmt.Sprint("u", i)), Namespace: fmt.Sprint("n", i)}
		h := fnv.New64a()
		h.Write([]byte(o.UID))
		require.Equal(t, h.Sum64() < 1<<63, lower.holds(o))
		require.NotEqual(t, lower.holds(o), upper.holds(o))
		require.True(t, all.holds(o))
		h = fnv.New64a()
		h.Write([]byte(o.Namespace))
		require.Equal(t, h.Sum64() < 1<<63, byNamespace.holds(o))
		if lower.holds(o) {
			n++
		}
	}
	require.Greater(t, n, 50)
	require.Less(t, n, 150)
	// The start is in the range and the end is not. This is the hash of "u0".
	h := fnv.New64a()
	h.Write([]byte("u0"))
	at, err := parseShard(fmt.Sprintf("shardRange(object.metadata.uid, '0x%016x', '0x%016x')", h.Sum64(), h.Sum64()+1))
	require.NoError(t, err)
	require.True(t, at.holds(&metav1.ObjectMeta{UID: "u0"}))
	before, err := parseShard(fmt.Sprintf("shardRange(object.metadata.uid, '0x%016x', '0x%016x')", h.Sum64()-1, h.Sum64()))
	require.NoError(t, err)
	require.False(t, before.holds(&metav1.ObjectMeta{UID: "u0"}))

	require.True(t, lower.equal(lower))
	require.False(t, lower.equal(upper))
	require.False(t, lower.equal(byNamespace))
	require.False(t, lower.equal(all))
}

func TestShardSelectorsThatAServerWouldRefuseAreErrors(t *testing.T) {
	t.Parallel()
	const lo, hi = "'0x0000000000000000'", "'0x8000000000000000'"
	of := func(args ...string) string { return "shardRange(" + strings.Join(args, ", ") + ")" }
	for _, selector := range []string{
		" ", "x", "shardRange", "shardRange()", lowerHalf + " ||", lowerHalf + " && " + upperHalf,
		of("object.metadata.name", lo, hi), of("object.metadata.uid", lo), of("object.metadata.uid", lo, hi, hi),
		of("object.metadata.uid", hi, lo), of("object.metadata.uid", hi, hi), of("object.metadata.uid", lo, lo),
		of("object.metadata.uid", "'0x10000000000000000'", "'0x10000000000000000'"),
		of("object.metadata.uid", "0x0000000000000000", hi), of("object.metadata.uid", lo, `'0x8000000000000000"`),
		of("object.metadata.uid", lo, "'0x8'"), of("object.metadata.uid", lo, "'8000000000000000'"),
		of("object.metadata.uid", lo, "'0xA000000000000000'"), of("object.metadata.uid", lo, "'0x800000000000000g'"),
		of("object.metadata.uid", lo, "'0x10000000000000001'"), of("object.metadata.uid", lo, "'"),
		lowerHalf + " || " + of("object.metadata.namespace", lo, hi),
		lowerHalf[:len(lowerHalf)-1], "x" + lowerHalf,
	} {
		_, err := New[*corev1.Pod](&rest.Config{Host: "http://apiserver.test"}, schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Options{ShardSelector: selector})
		require.ErrorContains(t, err, "reflector: shard selector ", selector)
	}
}

func FuzzParseShard(f *testing.F) {
	f.Add(lowerHalf + " || " + upperHalf)
	f.Add("shardRange(object.metadata.namespace, \"0x0000000000000000\", \"0x10000000000000000\")")
	f.Fuzz(func(t *testing.T, selector string) {
		s, err := parseShard(selector)
		if err != nil {
			return
		}
		require.NotEmpty(t, s.ranges)
		for _, r := range s.ranges {
			require.LessOrEqual(t, r.first, r.last)
		}
	})
}

func TestAListSaysWhichShardItIs(t *testing.T) {
	t.Parallel()
	s, err := parseShard(lowerHalf)
	require.NoError(t, err)
	require.NoError(t, s.checkList(lowerHalf, &metav1.ShardInfo{Selector: lowerHalf + " "}, true))
	require.ErrorContains(t, s.checkList(lowerHalf, &metav1.ShardInfo{Selector: upperHalf}, false), "the list is that of the selector")
	require.Error(t, s.checkList(lowerHalf, &metav1.ShardInfo{}, false))
}
