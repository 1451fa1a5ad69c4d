package indexer_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	step05 "github.com/informerkit/informerkit/examples/build/step05"
	"github.com/informerkit/informerkit/indexer"
)

// plainStore is what a store needs for the promises 2 and 3.
type plainStore interface {
	// write makes a batch of objects visible. inside is called before that.
	write(t *testing.T, version string, objs []*corev1.ConfigMap, inside func())
	// read returns the version, and the names of the objects with a value of the label app, of one
	// snapshot, each time that the function which it returns is called.
	read() func(value string) (version string, names []string)
}

type library struct {
	*indexer.Indexer[*corev1.ConfigMap]
	app *indexer.Index[*corev1.ConfigMap, string]
}

func (s library) write(t *testing.T, version string, objs []*corev1.ConfigMap, inside func()) {
	t.Helper()
	batch := s.Batch()
	defer batch.Discard()
	for _, obj := range objs {
		_, _, err := batch.Set(obj)
		require.NoError(t, err)
	}
	batch.SetResourceVersion(version)
	inside()
	batch.Commit()
}

func (s library) read() func(string) (string, []string) {
	snapshot := s.Snapshot()
	return func(value string) (string, []string) {
		var names []string
		for obj := range indexer.ByIndex(snapshot, s.app, value) {
			names = append(names, obj.Name)
		}
		slices.Sort(names)
		return snapshot.ResourceVersion(), names
	}
}

type built struct{ store *step05.Store }

func (s built) write(_ *testing.T, version string, objs []*corev1.ConfigMap, inside func()) {
	next := s.store.Next()
	for _, obj := range objs {
		next.Set(step05.KeyOf(obj), obj)
	}
	next.Version = version
	inside()
	s.store.Publish(next)
}

func (s built) read() func(string) (string, []string) {
	snapshot := s.store.Snapshot()
	return func(value string) (string, []string) {
		var names []string
		for _, obj := range snapshot.ByIndex(value) {
			names = append(names, obj.Name)
		}
		slices.Sort(names)
		return snapshot.Version, names
	}
}

// onPlainStores runs a test on this package's store and on the one of examples/build, which
// explains it.
func onPlainStores(t *testing.T, test func(t *testing.T, s plainStore)) {
	t.Helper()
	t.Run("indexer", func(t *testing.T) {
		app := indexer.LabelIndex[*corev1.ConfigMap]("app")
		ix, err := indexer.New(indexer.Options[*corev1.ConfigMap]{Indexes: []indexer.IndexDefinition[*corev1.ConfigMap]{app}})
		require.NoError(t, err)
		test(t, library{ix, app})
	})
	t.Run("examples/build/step05", func(t *testing.T) {
		test(t, built{&step05.Store{Index: func(obj *corev1.ConfigMap) []string { return []string{obj.Labels["app"]} }}})
	})
}

func labelled(name, version, app string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version, Labels: map[string]string{"app": app}}}
}

// Promise indexer/3
func TestPlainStoresShowABatchAsAWhole(t *testing.T) {
	onPlainStores(t, func(t *testing.T, s plainStore) {
		s.write(t, "2", []*corev1.ConfigMap{labelled("a", "1", "web"), labelled("b", "2", "web")}, func() {
			version, names := s.read()("web")
			assert.Empty(t, names)
			assert.Empty(t, version)
		})
		version, names := s.read()("web")
		assert.Equal(t, []string{"a", "b"}, names)
		assert.Equal(t, "2", version)
	})
}

// Promise indexer/2
func TestPlainStoresKeepASnapshotAsItWas(t *testing.T) {
	onPlainStores(t, func(t *testing.T, s plainStore) {
		s.write(t, "2", []*corev1.ConfigMap{labelled("a", "1", "web"), labelled("b", "2", "web")}, func() {})
		before := s.read()
		s.write(t, "4", []*corev1.ConfigMap{labelled("a", "3", "db"), labelled("c", "4", "web")}, func() {})
		version, names := before("web")
		assert.Equal(t, []string{"a", "b"}, names)
		assert.Equal(t, "2", version)
		_, names = s.read()("web")
		assert.Equal(t, []string{"b", "c"}, names)
	})
}

// Promise indexer/2
func TestPlainStoresShowOnePointInTimeToConcurrentReaders(t *testing.T) {
	onPlainStores(t, func(t *testing.T, s plainStore) {
		const rounds = 200
		var readers sync.WaitGroup
		done := make(chan struct{})
		for range 4 {
			readers.Go(func() {
				for {
					// All objects move from one value to the next in each round.
					at := s.read()
					version, _ := at("")
					if _, names := at("app-" + version); version != "" && len(names) != 10 {
						t.Errorf("at version %s there are %d of 10", version, len(names))
					}
					select {
					case <-done:
						return
					default:
					}
				}
			})
		}
		for round := 1; round <= rounds; round++ {
			version := fmt.Sprint(round)
			var objs []*corev1.ConfigMap
			for n := range 10 {
				objs = append(objs, labelled(fmt.Sprint("n", n), version, "app-"+version))
			}
			s.write(t, version, objs, func() {})
		}
		close(done)
		readers.Wait()
	})
}
