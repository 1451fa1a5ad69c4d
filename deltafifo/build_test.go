package deltafifo_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/deltafifo"
	step06 "github.com/informerkit/informerkit/examples/build/step06"
)

// plainQueue is what a queue needs for the promises 1, 9, 12 and 13. A pop returns what it
// took, as text.
type plainQueue interface {
	add(ctx context.Context, typ string, obj *corev1.ConfigMap) error
	replace(ctx context.Context, objs []*corev1.ConfigMap, version string) error
	pop(ctx context.Context) (string, error)
}

// onPlainQueues runs a test, in a bubble, on this package's queue and on the one of
// examples/build, which explains it.
func onPlainQueues(t *testing.T, limit int, test func(t *testing.T, q plainQueue)) {
	t.Helper()
	for name, newQueue := range map[string]func() plainQueue{
		"deltafifo": func() plainQueue {
			return library{deltafifo.New(deltafifo.Options[*corev1.ConfigMap]{Limit: limit})}
		},
		"examples/build/step06": func() plainQueue { return built{step06.NewDeltaQueue(limit)} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, newQueue()) })
		})
	}
}

type library struct {
	*deltafifo.DeltaFIFO[*corev1.ConfigMap]
}

func (q library) add(ctx context.Context, typ string, obj *corev1.ConfigMap) error {
	switch typ {
	case step06.Added:
		return q.Add(ctx, obj)
	case step06.Updated:
		return q.Update(ctx, obj)
	}
	return q.Delete(ctx, obj)
}

func (q library) replace(ctx context.Context, objs []*corev1.ConfigMap, version string) error {
	return q.Replace(ctx, objs, version)
}

func (q library) pop(ctx context.Context) (text string, err error) {
	err = q.Pop(ctx, func(batch deltafifo.Batch[*corev1.ConfigMap]) error {
		var all []string
		for _, d := range batch.Deltas {
			if d.Object == nil {
				var names []string
				for _, obj := range d.List.Objects {
					names = append(names, obj.Name)
				}
				all = append(all, fmt.Sprint(d.Type, " ", names, "@", d.List.ResourceVersion))
				continue
			}
			all = append(all, fmt.Sprint(d.Type, " ", d.Object.Name, "@", d.Object.ResourceVersion))
		}
		text = strings.Join(all, ", ")
		return nil
	})
	return text, err
}

type built struct{ queue *step06.DeltaQueue }

func (q built) add(ctx context.Context, typ string, obj *corev1.ConfigMap) error {
	return q.queue.Add(ctx, step06.Delta{Type: typ, Object: obj, Version: obj.ResourceVersion})
}

func (q built) replace(ctx context.Context, objs []*corev1.ConfigMap, version string) error {
	list := step06.Delta{Type: step06.Replaced, Version: version}
	for _, obj := range objs {
		list.Objects = append(list.Objects, *obj)
	}
	return q.queue.Add(ctx, list)
}

func (q built) pop(ctx context.Context) (string, error) {
	batch, err := q.queue.Pop(ctx)
	var all []string
	for _, d := range batch {
		var what any
		if d.Object != nil {
			what = d.Object.Name
		} else {
			var names []string
			for n := range d.Objects {
				names = append(names, d.Objects[n].Name)
			}
			what = names
		}
		all = append(all, fmt.Sprint(d.Type, " ", what, "@", d.Version))
	}
	return strings.Join(all, ", "), err
}

func configMap(name, version string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version}}
}

// Promise deltafifo/12
// Promise deltafifo/13
func TestPlainQueuesHandOutAllThatIsPendingInItsOrder(t *testing.T) {
	onPlainQueues(t, 100, func(t *testing.T, q plainQueue) {
		ctx := t.Context()
		require.NoError(t, q.add(ctx, step06.Added, configMap("b", "1")))
		require.NoError(t, q.add(ctx, step06.Added, configMap("a", "2")))
		require.NoError(t, q.add(ctx, step06.Updated, configMap("b", "3")))
		require.NoError(t, q.replace(ctx, []*corev1.ConfigMap{configMap("b", "3"), configMap("c", "4")}, "5"))
		require.NoError(t, q.add(ctx, step06.Deleted, configMap("c", "6")))
		got, err := q.pop(ctx)
		require.NoError(t, err)
		assert.Equal(t, "Added b@1, Added a@2, Updated b@3, Replaced [b c]@5, Deleted c@6", got)
	})
}

// Promise deltafifo/1
func TestPlainQueuesKeepTheOrderOverManyPops(t *testing.T) {
	onPlainQueues(t, 3, func(t *testing.T, q plainQueue) {
		var want, got []string
		go func() {
			for n := range 100 {
				_ = q.add(t.Context(), step06.Updated, configMap("a", fmt.Sprint(n)))
			}
		}()
		for n := range 100 {
			want = append(want, fmt.Sprint("Updated a@", n))
		}
		for len(got) < len(want) {
			batch, err := q.pop(t.Context())
			require.NoError(t, err)
			got = slices.Concat(got, strings.Split(batch, ", "))
		}
		assert.Equal(t, want, got)
	})
}

// Promise deltafifo/9
func TestPlainQueuesHoldUpTheProducerWhenFull(t *testing.T) {
	onPlainQueues(t, 2, func(t *testing.T, q plainQueue) {
		ctx := t.Context()
		require.NoError(t, q.add(ctx, step06.Added, configMap("a", "1")))
		require.NoError(t, q.add(ctx, step06.Added, configMap("b", "2")))
		short, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		require.ErrorIs(t, q.add(short, step06.Added, configMap("c", "3")), context.DeadlineExceeded)
		go func() {
			<-time.After(time.Minute)
			_, _ = q.pop(ctx)
		}()
		began := time.Now()
		require.NoError(t, q.add(ctx, step06.Added, configMap("c", "4")))
		assert.Equal(t, time.Minute, time.Since(began), "until there was room")
		got, err := q.pop(ctx)
		require.NoError(t, err)
		assert.Equal(t, "Added c@4", got)
	})
}
