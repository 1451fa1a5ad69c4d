package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/sharding"
	"github.com/informerkit/informerkit/internal/verify/e2e/controlplane"
	"github.com/informerkit/informerkit/reflector"
)

// rangedObjects are as many as make it unlikely that two ways to hash a UID agree on all
// of them by chance.
const rangedObjects = 10_000

// testRanges shares 10,000 objects among two replicas: each object is in the cache of one
// of them, the one whose ranges have the hash of its UID, whether the server filters or
// the client does. Then a quarter of the ranges moves.
func testRanges(t *testing.T, cp *controlplane.ControlPlane, served bool) {
	client := clientFor(t, cp)
	namespace := newNamespace(t, client)
	uids := make([]types.UID, rangedObjects)
	create, ctx := errgroup.WithContext(t.Context())
	create.SetLimit(16)
	for i := range uids {
		create.Go(func() error {
			c, err := client.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("o-", i)}}, metav1.CreateOptions{})
			if err == nil {
				uids[i] = c.UID
			}
			return err
		})
	}
	require.NoError(t, create.Wait())

	ranges := sharding.SplitHashes(64)
	lw, err := reflector.NewResource[*metav1.PartialObjectMetadata](cp.Config(), configMapResource, reflector.ResourceOptions{Namespace: namespace})
	require.NoError(t, err)
	var replicas []*sharding.Ranged[*metav1.PartialObjectMetadata]
	for i, some := range [][]sharding.HashRange{ranges[:32], ranges[32:]} {
		inf, err := sharding.NewRanged(lw, sharding.HashUID, informer.Options[*metav1.PartialObjectMetadata]{Name: fmt.Sprint("replica ", i)})
		require.NoError(t, err)
		require.NoError(t, inf.AddRanges(some...))
		run(t, inf.Informer)
		replicas = append(replicas, inf)
		waitForRanges(t, inf, some)
	}
	requireShared(t, replicas, uids, func(hash uint64) int { return int(hash >> 63) })
	by := informer.FilteredByClient
	if served {
		by = informer.FilteredByServer
	}
	for _, inf := range replicas {
		source := inf.Health().Sources[0]
		assert.Equal(t, by, source.FilteredBy, inf.Name())
		if served {
			assert.Zero(t, source.Outside, "the server and the hash of apimachinery agree")
		} else {
			assert.GreaterOrEqual(t, source.Outside, uint64(rangedObjects/3))
		}
	}

	moved := ranges[16:32]
	require.True(t, replicas[0].RemoveRanges(moved...))
	require.NoError(t, replicas[1].AddRanges(moved...))
	waitForRanges(t, replicas[1], moved)
	requireShared(t, replicas, uids, func(hash uint64) int { return int(min(hash>>62, 1)) })
}

// requireShared checks that each object is in the cache of the replica that owner names,
// and in no other.
func requireShared(t *testing.T, replicas []*sharding.Ranged[*metav1.PartialObjectMetadata], uids []types.UID, owner func(hash uint64) int) {
	t.Helper()
	in := map[types.UID][]int{}
	for i, inf := range replicas {
		for o := range inf.Snapshot().All() {
			in[o.UID] = append(in[o.UID], i)
		}
	}
	require.Len(t, in, len(uids))
	for _, uid := range uids {
		require.Equal(t, []int{owner(sharding.HashOf(string(uid)))}, in[uid], "%s", uid)
	}
}

func waitForRanges(t *testing.T, inf *sharding.Ranged[*metav1.PartialObjectMetadata], ranges []sharding.HashRange) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	start := time.Now()
	require.NoError(t, inf.WaitForRanges(ctx, ranges...))
	t.Logf("%s has %d ranges more after %v, and %d objects", inf.Name(), len(ranges), time.Since(start).Round(time.Millisecond), inf.Snapshot().Len())
}
