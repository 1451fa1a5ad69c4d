package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/informerkit/informerkit/informer"
)

// lateSync bounds the time from the creation of a definition to the sync of an
// informer that was waiting for it: one poll, and the time in which the server
// answers that its storage is being initialized.
const lateSync = 6 * time.Second

func TestAnInformerSyncsSoonAfterItsDefinitionIsCreated(t *testing.T) {
	t.Parallel()
	cp := shared(t)
	client, err := dynamic.NewForConfig(cp.Config())
	require.NoError(t, err)
	gvk := schema.GroupVersionKind{Group: "late.informerkit.test", Version: "v1", Kind: "Late"}
	factory, err := informer.NewFactory(cp.Config(), informer.FactoryOptions{})
	require.NoError(t, err)
	lates, err := informer.For(factory, informer.ForOptions[*unstructured.Unstructured]{Kind: gvk})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	factory.Start(ctx)
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, factory.Shutdown(context.Background()))
	})

	// Long enough for the backoff to grow, if each poll counted as a failure.
	time.Sleep(20 * time.Second)
	select {
	case <-lates.Synced():
		t.Fatal("synced without a definition")
	default:
	}
	begin := time.Now()
	_, err = client.Resource(crdResource).Create(t.Context(), definition(gvk.Group, gvk.Kind, "lates"), metav1.CreateOptions{})
	require.NoError(t, err)
	waitCtx, cancelWait := context.WithTimeout(t.Context(), time.Minute)
	defer cancelWait()
	require.NoError(t, informer.WaitForSync(waitCtx, lates))
	t.Logf("synced after %v", time.Since(begin))
	require.Less(t, time.Since(begin), lateSync)
}
