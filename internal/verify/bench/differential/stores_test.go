package differential

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/informerkit/informerkit/indexer"
)

// The indexes of both sides: one from the start, and one that is added later and
// has several values per object.
var (
	byLabel  = indexer.NewIndex("label", labelValues)
	byDivide = indexer.NewIndex("divisible", divisors)
)

func labelValues(p *corev1.Pod) ([]string, error) { return []string{p.Labels["n"]}, nil }

func divisors(p *corev1.Pod) ([]string, error) {
	var all []string
	for _, d := range []string{"2", "3"} {
		if (p.Labels["n"][0]-'0')%(d[0]-'0') == 0 {
			all = append(all, d)
		}
	}
	return all, nil
}

// theirIndex returns an index of client-go.
func theirIndex(name string, values func(*corev1.Pod) ([]string, error)) cache.Indexers {
	return cache.Indexers{name: func(obj any) ([]string, error) { return values(obj.(*corev1.Pod)) }}
}

// addIndex adds the second index to both, once.
func (w *world) addIndex() error {
	if w.indexed {
		return nil
	}
	w.indexed = true
	if err := w.ours.AddIndex(byDivide); err != nil {
		return err
	}
	return w.theirs.AddIndexers(theirIndex(byDivide.Name(), divisors))
}

// compareStores compares which objects both have, and in which state. If nothing
// is in the way, those are the server's.
func (w *world) compareStores() error {
	ours, theirs := map[types.NamespacedName]state{}, map[types.NamespacedName]state{}
	for p := range w.ourStore.Snapshot().All() {
		ours[keyOf(p)] = stateOf(p)
	}
	for _, obj := range w.theirStore.List() {
		p := obj.(*corev1.Pod)
		theirs[keyOf(p)] = stateOf(p)
	}
	if !maps.Equal(ours, theirs) {
		return fmt.Errorf("stores differ\n\tours:   %v\n\ttheirs: %v", ours, theirs)
	}
	w.record.mu.Lock()
	defer w.record.mu.Unlock()
	if w.started && !w.down && !maps.Equal(ours, w.now) {
		return fmt.Errorf("both stores differ from the server\n\tboth:   %v\n\tserver: %v", ours, w.now)
	}
	return nil
}

// compareObjects compares the objects with all their fields.
func (w *world) compareObjects() error {
	for p := range w.ourStore.Snapshot().All() {
		obj, ok, err := w.theirStore.GetByKey(keyOf(p).String())
		if err != nil || !ok {
			return fmt.Errorf("theirs does not have %v: %w", keyOf(p), err)
		}
		theirs := obj.(*corev1.Pod).DeepCopy()
		if p.Kind != "Pod" || p.APIVersion != "v1" || theirs.Kind != "" || theirs.APIVersion != "" {
			return fmt.Errorf("kinds: ours %v, theirs %v", p.TypeMeta, theirs.TypeMeta)
		}
		w.met.add(kindIsSet, 1)
		ours := p.DeepCopy()
		ours.TypeMeta = metav1.TypeMeta{}
		if !equality.Semantic.DeepEqual(ours, theirs) {
			return fmt.Errorf("objects differ\n\tours:   %v\n\ttheirs: %v", ours, theirs)
		}
	}
	return nil
}

// compareVersions compares the resourceVersions that both report.
func (w *world) compareVersions() error {
	ours, theirs := w.versions()
	server := w.server.ResourceVersion()
	if ours != theirs || ours != server {
		return fmt.Errorf("resourceVersions: ours %s, theirs %s, the server's %s", ours, theirs, server)
	}
	return nil
}

// compareIndexes compares all values and what they lead to.
func (w *world) compareIndexes() error {
	all := []*indexer.Index[*corev1.Pod, string]{byLabel}
	if w.indexed {
		all = append(all, byDivide)
	}
	snap := w.ourStore.Snapshot()
	for _, x := range all {
		ours := slices.Sorted(indexer.IndexValues(snap, x))
		theirs := slices.Sorted(slices.Values(w.theirStore.ListIndexFuncValues(x.Name())))
		if !slices.Equal(ours, theirs) {
			return fmt.Errorf("values of index %s: ours %v, theirs %v", x.Name(), ours, theirs)
		}
		for _, v := range ours {
			if err := w.compareIndex(snap, x, v); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *world) compareIndex(snap *indexer.Snapshot[*corev1.Pod], x *indexer.Index[*corev1.Pod, string], value string) error {
	var ours []string
	for p := range indexer.ByIndex(snap, x, value) {
		ours = append(ours, keyOf(p).String())
	}
	theirs, err := w.theirStore.IndexKeys(x.Name(), value)
	if err != nil {
		return err
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	if !slices.Equal(ours, theirs) {
		return fmt.Errorf("index %s, value %s: ours %v, theirs %v", x.Name(), value, ours, theirs)
	}
	return nil
}
