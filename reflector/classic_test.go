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
			err = q.Pop(context.Background(), func(batch deltafifo.Batch[*corev1.ConfigMap]) (err error) {
				for _, deltas := range batch.ByObject() {
					if failed := applyDeltas(s, deltas); failed != nil {
						err = errors.Join(err, failed, q.AddIfNotPresent(deltas))
					}
				}
				return err
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

func applyDeltas(s *ordered, deltas deltafifo.Deltas[*corev1.ConfigMap]) error {
	for _, d := range deltas {
		write := s.Update
		if d.Type == deltafifo.Deleted {
			write = s.Delete
		}
		if err := write(context.Background(), d.Object); err != nil {
			return err
		}
	}
	return nil
}
