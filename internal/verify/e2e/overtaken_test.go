package e2e

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/internal/verify/e2e/controlplane"
	"github.com/informerkit/informerkit/reflector"
)

// The storage is emptied, and written to until its history has overtaken the versions that the
// informers know, before they are back. The server resumes their watches then, as if nothing had happened.
func TestInformersNoticeARestoredServerWhoseHistoryHasOvertaken(t *testing.T) {
	t.Parallel()
	cp := dedicated(t, controlplane.Options{})
	client := clientFor(t, cp)
	for i := range 300 {
		mustWrite(t, client, "default", fmt.Sprint("ghost-", i))
	}
	type returning struct {
		informer *informer.Informer[*corev1.ConfigMap]
		network  *gate
	}
	var all []returning
	for _, mode := range modes {
		network := &gate{}
		lw, err := reflector.NewResource[*corev1.ConfigMap](network.through(cp.Config()), configMapResource, reflector.ResourceOptions{Namespace: "default"})
		require.NoError(t, err)
		inf, err := informer.New(lw, informer.Options[*corev1.ConfigMap]{Name: string(mode), Reflector: reflector.Options{Sync: mode}})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		ended := make(chan error, 1)
		go func() { ended <- inf.Run(ctx) }()
		t.Cleanup(func() { cancel(); assert.NoError(t, <-ended) })
		require.NoError(t, informer.WaitForSync(t.Context(), inf))
		all = append(all, returning{inf, network})
	}
	before, err := strconv.Atoi(all[0].informer.Snapshot().ResourceVersion())
	require.NoError(t, err)
	for _, r := range all {
		r.network.cut()
	}
	require.NoError(t, cp.Reset(t.Context()))
	for i := 0; ; i++ {
		made, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), configMap(fmt.Sprint("missing-", i)), metav1.CreateOptions{})
		require.NoError(t, err)
		if at, err := strconv.Atoi(made.ResourceVersion); err == nil && at > before+100 {
			t.Logf("version %d after %d writes, %d before", at, i+1, before)
			break
		}
	}
	want := stored(t, client, "default")
	for _, r := range all {
		r.network.heal()
	}
	for _, r := range all {
		require.Eventually(t, func() bool { return r.informer.Health().Sources[0].Reflector.State == reflector.StateWatching }, patience, 50*time.Millisecond)
		back := time.Now()
		var have versions
		require.Eventually(t, func() bool {
			have = versions{}
			for obj := range r.informer.Snapshot().All() {
				have[keyOf(obj)] = versionOf(obj)
			}
			return assert.ObjectsAreEqual(want, have)
		}, 35*time.Second, 50*time.Millisecond, "%s: %d objects, and the server has %d", r.informer.Name(), len(have), len(want))
		t.Logf("%s: equal %v after it was back", r.informer.Name(), time.Since(back).Round(time.Millisecond))
	}
}
