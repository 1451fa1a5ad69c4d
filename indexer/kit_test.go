package indexer

import (
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/internal/object"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type pod = corev1.Pod

// seed is printed by every random test; INDEXER_SEED repeats a run.
func seed(t testing.TB) *rand.Rand {
	s := uint64(time.Now().UnixNano())
	if e := os.Getenv("INDEXER_SEED"); e != "" {
		n, err := strconv.ParseUint(e, 10, 64)
		require.NoError(t, err)
		s = n
	}
	t.Logf("repeat with INDEXER_SEED=%d", s)
	return rand.New(rand.NewPCG(s, 1))
}

func newPod(namespace, name string, labels ...string) *pod {
	p := &pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-" + namespace + "-" + name)}}
	for i := 0; i+1 < len(labels); i += 2 {
		metav1.SetMetaDataLabel(&p.ObjectMeta, labels[i], labels[i+1])
	}
	return p
}

// numbered returns n pods, spread over ten namespaces and five apps.
func numbered(n int) []*pod {
	pods := make([]*pod, n)
	for i := range pods {
		pods[i] = newPod(fmt.Sprintf("ns-%d", i%10), fmt.Sprintf("pod-%d", i), "app", fmt.Sprintf("app-%d", i/10%5))
		pods[i].ResourceVersion = strconv.Itoa(i + 1)
		pods[i].Spec.NodeName = fmt.Sprintf("node-%d", i%7)
	}
	return pods
}

func key(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

func newIndexer(t testing.TB, defs ...IndexDefinition[*pod]) *Indexer[*pod] {
	ix, err := New(Options[*pod]{Indexes: defs, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	return ix
}

// set stores objects in one batch.
func set(t testing.TB, ix *Indexer[*pod], pods ...*pod) *Snapshot[*pod] {
	b := ix.Batch()
	defer b.Discard()
	for _, p := range pods {
		_, _, err := b.Set(p)
		require.NoError(t, err)
	}
	return b.Commit()
}

// inStores runs a test in a store that has nothing else, and in one with other objects.
func inStores(t *testing.T, test func(t *testing.T, ix *Indexer[*pod]), defs ...IndexDefinition[*pod]) {
	t.Helper()
	for name, others := range map[string]int{"empty": 0, "with others": 100} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ix := newIndexer(t, defs...)
			for i := range others {
				set(t, ix, newPod("others", fmt.Sprint("other", i)))
			}
			test(t, ix)
		})
	}
}

// names lists objects by key, sorted.
func names[T Object](seq iter.Seq[T]) []string {
	out := []string{}
	for o := range seq {
		out = append(out, object.KeyOf(o).String())
	}
	slices.Sort(out)
	return out
}

func by[K comparable](t testing.TB, s *Snapshot[*pod], x *Index[*pod, K], k K) []string {
	seq := ByIndex(s, x, k)
	got := names(seq)
	n := IndexLen(s, x, k)
	require.Len(t, got, n)
	return got
}

// registered reports whether s has the index itself.
func registered[K comparable](s *Snapshot[*pod], x *Index[*pod, K]) bool {
	found, err := FindIndex[*pod, K](s, x.Name())
	return err == nil && found == x
}

func values[K interface{ ~string | ~int }](t testing.TB, s *Snapshot[*pod], x *Index[*pod, K]) []K {
	seq := IndexValues(s, x)
	return slices.Sorted(seq)
}

var errUnwilling = errors.New("unwilling")

// ports is an index with any number of values, which fails if asked to.
func ports() *Index[*pod, int] {
	return NewIndex("ports", func(p *pod) ([]int, error) {
		var out []int
		for _, c := range p.Spec.Containers {
			for _, port := range c.Ports {
				out = append(out, int(port.ContainerPort))
			}
		}
		switch p.Annotations["index"] {
		case "panic":
			panic("do not index me")
		case "error":
			return out, errUnwilling
		}
		return out, nil
	})
}

func withPorts(p *pod, ports ...int) *pod {
	for _, n := range ports {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Ports: []corev1.ContainerPort{{ContainerPort: int32(n)}}})
	}
	return p
}
