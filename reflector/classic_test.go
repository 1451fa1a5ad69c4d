package reflector_test

import (
	"context"
	"errors"
	"iter"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/deltafifo"
	"github.com/informerkit/informerkit/reflector"
)

// A DeltaFIFO can be asked for what it has, its store or not.
var _ reflector.Known[*corev1.ConfigMap] = (*deltafifo.DeltaFIFO[*corev1.ConfigMap])(nil)

// checkedStore is the store at the end of the classic chain.
type checkedStore struct{ *ordered }

func (s checkedStore) Get(key types.NamespacedName) (*corev1.ConfigMap, bool) {
	return knowing{s.recorder}.Known(key)
}

func (s checkedStore) All() iter.Seq[*corev1.ConfigMap] { return maps.Values(s.objects()) }

// queued returns a DeltaFIFO whose consumer brings each change to s, until the
// test ends.
func queued(t *testing.T, s *ordered) *deltafifo.DeltaFIFO[*corev1.ConfigMap] {
	q := deltafifo.New(deltafifo.Options[*corev1.ConfigMap]{KnownObjects: checkedStore{s}, Limit: 10})
	popped := make(chan error, 1)
	go func() {
		var err error
		for !errors.Is(err, deltafifo.ErrClosed) {
			err = q.Pop(context.Background(), func(deltas deltafifo.Deltas[*corev1.ConfigMap]) error {
				for _, d := range deltas {
					if err := applyDelta(s, d); err != nil {
						return errors.Join(err, q.AddIfNotPresent(deltas))
					}
				}
				return nil
			})
		}
		popped <- err
	}()
	t.Cleanup(func() {
		q.Close()
		require.ErrorIs(t, <-popped, deltafifo.ErrClosed)
	})
	return q
}

func applyDelta(s *ordered, d deltafifo.Delta[*corev1.ConfigMap]) error {
	if d.Type == deltafifo.Deleted {
		return s.Delete(context.Background(), d.Object)
	}
	return s.Update(context.Background(), d.Object)
}
