package e2e

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	step10 "github.com/informerkit/informerkit/examples/build/step10"
)

// The controller that examples/build ends with does on a cluster what it does on the embedded
// server: each object that asks for a backup has one, with two replicas of which one stops.
func TestBuiltControllerOnACluster(t *testing.T) {
	t.Parallel()
	cp := shared(t)
	client := clientFor(t, cp)
	namespace := newNamespace(t, client)
	replica := func(identity string) (stop func()) {
		c, err := step10.NewController(cp.Config(), namespace, identity)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { assert.ErrorIs(t, c.Run(ctx, 4), context.Canceled) })
		return func() {
			cancel()
			running.Wait()
		}
	}
	stopOne, stopTwo := replica("one"), replica("two")
	defer stopTwo()

	want := map[string]int{}
	ask := func(n int) {
		for range n {
			name := fmt.Sprint("n", len(want))
			_, err := client.CoreV1().ConfigMaps(namespace).Create(t.Context(), &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{step10.Label: "yes"}},
				Data:       map[string]string{"sky": "blue"},
			}, metav1.CreateOptions{})
			require.NoError(t, err)
			want[name] = 1
		}
	}
	backups := func() error {
		all, err := client.CoreV1().ConfigMaps(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		got := map[string]int{}
		for n := range all.Items {
			if owner := metav1.GetControllerOf(&all.Items[n]); owner != nil {
				got[owner.Name]++
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			return fmt.Errorf("there are backups of %v", got)
		}
		return nil
	}
	ask(20)
	eventually(t, backups)
	stopOne()
	ask(20)
	eventually(t, backups)
	<-time.After(2 * step10.RetryPeriod) // no further one comes
	require.NoError(t, backups())

	lease, err := client.CoordinationV1().Leases(namespace).Get(t.Context(), step10.LeaseName, metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, "two", *lease.Spec.HolderIdentity)
}
