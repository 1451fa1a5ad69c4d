package informer

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/reflector"
)

// definable is a source whose resource may be removed.
type definable struct {
	reflector.ListerWatcher[*pod]
	cluster *cluster
}

func (s *definable) Served(context.Context) (bool, error) {
	s.cluster.mu.Lock()
	defer s.cluster.mu.Unlock()
	return s.cluster.listErr == nil, nil
}

// A handler can tell that its objects went with their resource.
func TestEventsOfARemovedResourceHaveTheirOwnOrigin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		c.enter()
		c.set("a", "x", 1)
		c.set("b", "x", 1)
		inf, err := New[*pod](&definable{c.source(), c}, Options[*pod]{Name: "pods"})
		require.NoError(t, err)
		w := &world{cluster: c, t: t, inf: inf}
		o, _ := w.join(HandlerOptions{})
		var added atomic.Int32
		w.add(EnqueueKey[*pod](adderFunc(func(types.NamespacedName) { added.Add(1) })), HandlerOptions{})
		w.run()
		o.take()

		c.fail(apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, ""))
		c.disconnect(true)
		time.Sleep(20 * time.Second)
		synctest.Wait()
		assert.Empty(t, o.take(), "it may be a server that is starting")
		added.Store(0)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		assert.ElementsMatch(t, []string{"Deleted a/x 1 ResourceRemoved unseen", "Deleted b/x 1 ResourceRemoved unseen"}, o.take())
		assert.EqualValues(t, 2, added.Load(), "a worker is to see that they are gone")

		c.fail(nil)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		assert.ElementsMatch(t, []string{"Added a/x 1 Relist", "Added b/x 1 Relist"}, o.take())
		w.stop()
	})
}
