package indexer

import (
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/internal/object"
)

// reader is what a store answers. The conformance suite asks each store the
// same questions as a model that does everything the slow and obvious way.
type reader interface {
	Get(types.NamespacedName) (*pod, bool)
	Len() int
	All() iter.Seq[*pod]
	ByNamespace(string) iter.Seq[*pod]
	Select(labels.Selector) iter.Seq[*pod]
	SelectInNamespace(string, labels.Selector) iter.Seq[*pod]
	ResourceVersion() string
	byApp(string) ([]string, bool)
	byOwner(types.UID) ([]string, bool)
	byPort(int) ([]string, bool)
	appValues() ([]string, bool)
	portValues() ([]int, bool)
	failures() ([]string, bool)
}

// store is a reader that can be written to; each call is published at once or
// with the next commit.
type store interface {
	set(*pod)
	remove(types.NamespacedName)
	replace([]*pod)
	replaceNamespace(string, []*pod)
	resourceVersion(string)
	commit() reader
	// upset does something that must not change what readers see.
	upset(*rand.Rand)
}

// model is the naive reference: one Go map, every query looks at everything.
type model struct {
	pods map[types.NamespacedName]*pod
	rv   string
}

func (m *model) set(p *pod)                    { m.pods[object.KeyOf(p)] = p }
func (m *model) remove(k types.NamespacedName) { delete(m.pods, k) }
func (m *model) resourceVersion(rv string) {
	if len(rv) > len(m.rv) || len(rv) == len(m.rv) && rv > m.rv {
		m.rv = rv
	}
}

func (m *model) replace(pods []*pod) {
	listed := map[types.NamespacedName]bool{}
	for _, p := range pods {
		k := object.KeyOf(p)
		listed[k] = true
		if old, ok := m.pods[k]; !ok || !object.SameVersion(old, p) {
			m.pods[k] = p
		}
	}
	maps.DeleteFunc(m.pods, func(k types.NamespacedName, _ *pod) bool { return !listed[k] })
}

func (m *model) replaceNamespace(ns string, pods []*pod) {
	var all []*pod
	for k, p := range m.pods {
		if k.Namespace != ns {
			all = append(all, p)
		}
	}
	m.replace(append(all, pods...))
}

func (m *model) commit() reader   { return &model{maps.Clone(m.pods), m.rv} }
func (m *model) upset(*rand.Rand) {}

func (m *model) Get(k types.NamespacedName) (*pod, bool) { p, ok := m.pods[k]; return p, ok }
func (m *model) Len() int                                { return len(m.pods) }
func (m *model) All() iter.Seq[*pod]                     { return maps.Values(m.pods) }
func (m *model) ResourceVersion() string                 { return m.rv }

func (m *model) filter(f func(*pod) bool) iter.Seq[*pod] {
	return func(yield func(*pod) bool) {
		for _, p := range m.pods {
			if f(p) && !yield(p) {
				return
			}
		}
	}
}

func (m *model) ByNamespace(ns string) iter.Seq[*pod] {
	return m.filter(func(p *pod) bool { return p.Namespace == ns })
}

func (m *model) Select(s labels.Selector) iter.Seq[*pod] {
	return m.filter(func(p *pod) bool { return s.Matches(labels.Set(p.Labels)) })
}

func (m *model) SelectInNamespace(ns string, s labels.Selector) iter.Seq[*pod] {
	return m.filter(func(p *pod) bool { return p.Namespace == ns && s.Matches(labels.Set(p.Labels)) })
}

func (m *model) byApp(v string) ([]string, bool) {
	return names(m.filter(func(p *pod) bool { l, ok := p.Labels["app"]; return ok && l == v })), true
}

func (m *model) byOwner(uid types.UID) ([]string, bool) {
	return names(m.filter(func(p *pod) bool {
		return slices.ContainsFunc(p.OwnerReferences, func(r metav1.OwnerReference) bool { return r.UID == uid })
	})), true
}

func (m *model) byPort(n int) ([]string, bool) {
	return names(m.filter(func(p *pod) bool { return slices.Contains(portsOf(p), n) })), true
}

func portsOf(p *pod) (out []int) {
	if p.Annotations["index"] != "" {
		return nil
	}
	for _, c := range p.Spec.Containers {
		out = append(out, int(c.Ports[0].ContainerPort))
	}
	return out
}

func (m *model) appValues() ([]string, bool) {
	seen := map[string]bool{}
	for _, p := range m.pods {
		if v, ok := p.Labels["app"]; ok {
			seen[v] = true
		}
	}
	return slices.Sorted(maps.Keys(seen)), true
}

func (m *model) portValues() ([]int, bool) {
	seen := map[int]bool{}
	for _, p := range m.pods {
		for _, n := range portsOf(p) {
			seen[n] = true
		}
	}
	return slices.Sorted(maps.Keys(seen)), true
}

func (m *model) failures() ([]string, bool) {
	return names(m.filter(func(p *pod) bool { return p.Annotations["index"] != "" })), true
}

// kit is an [Indexer] under test, with the three indexes of the suite.
type kit struct {
	t     testing.TB
	ix    *Indexer[*pod]
	b     *Batch[*pod]
	app   *Index[*pod, string]
	owner *Index[*pod, types.UID]
	ports *Index[*pod, int]
	// perWrite commits each write by itself; restless adds and removes indexes.
	perWrite, restless bool
}

func newKit(t testing.TB, drop uint32) *kit {
	k := &kit{t: t, app: LabelIndex[*pod]("app"), owner: OwnerUIDIndex[*pod](), ports: ports()}
	k.ix = newIndexer(t)
	k.ix.shared.drop = drop
	for _, def := range k.indexes() {
		require.NoError(t, k.ix.AddIndex(def))
	}
	return k
}

func (k *kit) indexes() []IndexDefinition[*pod] {
	return []IndexDefinition[*pod]{k.app, k.owner, k.ports}
}

func (k *kit) batch() *Batch[*pod] {
	if k.b == nil {
		k.b = k.ix.Batch()
	}
	return k.b
}

func (k *kit) wrote() {
	if k.perWrite {
		k.commit()
	}
}

func (k *kit) set(p *pod) {
	before, had := k.batch().next.Get(object.KeyOf(p))
	old, existed, err := k.b.Set(p)
	require.NoError(k.t, err)
	require.Equal(k.t, had, existed)
	require.Same(k.t, before, old)
	k.wrote()
}

func (k *kit) remove(key types.NamespacedName) {
	before, had := k.batch().next.Get(key)
	old, existed := k.b.Delete(key)
	require.Equal(k.t, had, existed)
	require.Same(k.t, before, old)
	k.wrote()
}

func (k *kit) replace(pods []*pod) {
	_, err := k.batch().Replace(pods)
	require.NoError(k.t, err)
	k.wrote()
}

func (k *kit) replaceNamespace(ns string, pods []*pod) {
	_, err := k.batch().ReplaceNamespace(ns, pods)
	require.NoError(k.t, err)
	k.wrote()
}

func (k *kit) resourceVersion(rv string) { k.batch().SetResourceVersion(rv); k.wrote() }

func (k *kit) commit() reader {
	if k.b == nil {
		return view{k.ix.Snapshot(), k}
	}
	s := k.b.Commit()
	require.Same(k.t, s, k.ix.Snapshot())
	k.b = nil
	return view{s, k}
}

// upset discards a batch full of nonsense, and moves indexes if restless.
func (k *kit) upset(r *rand.Rand) {
	k.commit()
	b := k.ix.Batch()
	for p := range b.freeze().All() {
		if r.IntN(2) == 0 {
			b.Delete(object.KeyOf(p))
		} else {
			_, _, err := b.Set(newPod(p.Namespace, p.Name, "app", "discarded"))
			require.NoError(k.t, err)
		}
	}
	b.SetResourceVersion("99999999")
	b.Discard()
	if !k.restless {
		return
	}
	for _, def := range k.indexes() {
		if r.IntN(2) == 0 {
			continue
		}
		if k.ix.Snapshot().find(def.Name()) >= 0 {
			require.NoError(k.t, k.ix.RemoveIndex(def.Name()))
		} else {
			require.NoError(k.t, k.ix.AddIndex(def))
		}
	}
}

// view reads a snapshot; ok is false if it does not have the index.
type view struct {
	*Snapshot[*pod]
	k *kit
}

func (v view) byApp(s string) ([]string, bool)        { return viewBy(v, v.k.app, s) }
func (v view) byOwner(uid types.UID) ([]string, bool) { return viewBy(v, v.k.owner, uid) }
func (v view) byPort(n int) ([]string, bool)          { return viewBy(v, v.k.ports, n) }

func viewBy[K comparable](v view, x *Index[*pod, K], k K) ([]string, bool) {
	if !registered(v.Snapshot, x) {
		return nil, false
	}
	return names(ByIndex(v.Snapshot, x, k)), true
}

func (v view) appValues() ([]string, bool) {
	if !registered(v.Snapshot, v.k.app) {
		return nil, false
	}
	return slices.Sorted(IndexValues(v.Snapshot, v.k.app)), true
}

func (v view) portValues() ([]int, bool) {
	if !registered(v.Snapshot, v.k.ports) {
		return nil, false
	}
	return slices.Sorted(IndexValues(v.Snapshot, v.k.ports)), true
}

func (v view) failures() ([]string, bool) {
	seq, err := v.IndexFailures("ports")
	if err != nil {
		return nil, false
	}
	out := []string{}
	for k, err := range seq {
		require.Error(v.k.t, err)
		out = append(out, k.String())
	}
	slices.Sort(out)
	return out, true
}

var selectors = []string{"app=a1", "app in (a1,a2)", "app", "!app", "app!=a1", "tier=t0", "app=a0,tier=t1", "app notin (a0),tier in (t0,t1)", "app=none"}

// compare asks both readers the same questions.
func compare(t testing.TB, want, got reader) {
	require.Equal(t, want.Len(), got.Len())
	require.Equal(t, want.ResourceVersion(), got.ResourceVersion())
	require.Equal(t, names(want.All()), names(got.All()))
	for p := range want.All() {
		g, ok := got.Get(object.KeyOf(p))
		if !ok || g != p {
			t.Fatalf("Get(%s) returns %p, want %p", object.KeyOf(p), g, p)
		}
	}
	_, ok := got.Get(key("n0", "nobody"))
	require.False(t, ok)
	for n := range 4 {
		ns := fmt.Sprintf("n%d", n)
		require.Equal(t, names(want.ByNamespace(ns)), names(got.ByNamespace(ns)))
	}
	for _, text := range selectors {
		sel, err := labels.Parse(text)
		require.NoError(t, err)
		require.Equal(t, names(want.Select(sel)), names(got.Select(sel)), text)
		require.Equal(t, names(want.SelectInNamespace("n1", sel)), names(got.SelectInNamespace("n1", sel)), text)
	}
	for i := range 5 {
		same(t, want.byApp, got.byApp, fmt.Sprintf("a%d", i))
		same(t, want.byOwner, got.byOwner, types.UID(fmt.Sprintf("o%d", i)))
		same(t, want.byPort, got.byPort, i)
	}
	none := struct{}{}
	same(t, func(struct{}) ([]string, bool) { return want.appValues() }, func(struct{}) ([]string, bool) { return got.appValues() }, none)
	same(t, func(struct{}) ([]int, bool) { return want.portValues() }, func(struct{}) ([]int, bool) { return got.portValues() }, none)
	same(t, func(struct{}) ([]string, bool) { return want.failures() }, func(struct{}) ([]string, bool) { return got.failures() }, none)
}

func same[K, V any](t testing.TB, want, got func(K) ([]V, bool), k K) {
	g, ok := got(k)
	if !ok {
		return // the index is not registered at the moment
	}
	w, _ := want(k)
	require.ElementsMatch(t, w, g, "value %v", k)
}

// compareDiff expects the changes between two snapshots to turn the first model
// into the second.
func compareDiff(t testing.TB, from, to *model, a, b *Snapshot[*pod]) {
	got := maps.Clone(from.pods)
	for c := range Diff(a, b) {
		old, had := got[c.Key]
		require.Equal(t, had, c.Type != Added, "%s %s", c.Type, c.Key)
		require.Same(t, old, c.Old)
		if c.Type == Deleted {
			require.Nil(t, c.New)
			delete(got, c.Key)
			continue
		}
		require.NotSame(t, c.Old, c.New)
		got[c.Key] = c.New
	}
	require.True(t, maps.Equal(to.pods, got))
}

func randomPod(r *rand.Rand, serial int) *pod {
	p := newPod(fmt.Sprintf("n%d", r.IntN(4)), fmt.Sprintf("p%d", r.IntN(60)))
	p.ResourceVersion = fmt.Sprint(serial)
	if r.IntN(4) > 0 {
		metav1.SetMetaDataLabel(&p.ObjectMeta, "app", fmt.Sprintf("a%d", r.IntN(4)))
	}
	if r.IntN(2) > 0 {
		metav1.SetMetaDataLabel(&p.ObjectMeta, "tier", fmt.Sprintf("t%d", r.IntN(3)))
	}
	for range r.IntN(3) {
		p.OwnerReferences = append(p.OwnerReferences, metav1.OwnerReference{UID: types.UID(fmt.Sprintf("o%d", r.IntN(4)))})
	}
	for range r.IntN(4) {
		withPorts(p, r.IntN(4)) // duplicates happen
	}
	if r.IntN(15) == 0 {
		metav1.SetMetaDataAnnotation(&p.ObjectMeta, "index", []string{"error", "panic"}[r.IntN(2)])
	}
	return p
}

// state is a committed state of a store, and what it should be.
type state struct {
	want *model
	got  reader
}

// sorted makes the order of the model's answers repeatable.
func sorted(seq iter.Seq[*pod]) iter.Seq[*pod] {
	return slices.Values(slices.SortedFunc(seq, func(a, b *pod) int {
		return strings.Compare(object.KeyOf(a).String(), object.KeyOf(b).String())
	}))
}

// conform drives a store and the model through random operations, and compares
// every committed state, also long after.
func conform(t *testing.T, r *rand.Rand, s store, steps int) {
	m := &model{pods: map[types.NamespacedName]*pod{}}
	var kept []state
	for i := range steps {
		switch op := r.IntN(40); {
		case op < 20:
			p := randomPod(r, i)
			m.set(p)
			s.set(p)
		case op < 30:
			k := object.KeyOf(randomPod(r, i))
			m.remove(k)
			s.remove(k)
		case op == 30:
			pods := relist(r, sorted(m.All()), i)
			m.replace(pods)
			s.replace(pods)
		case op == 31:
			pods := relist(r, sorted(m.ByNamespace("n2")), i)
			pods = slices.DeleteFunc(pods, func(p *pod) bool { return p.Namespace != "n2" })
			m.replaceNamespace("n2", pods)
			s.replaceNamespace("n2", pods)
		case op < 34:
			rv := fmt.Sprint(i + r.IntN(100) - 50)
			if i > 50 {
				m.resourceVersion(rv)
				s.resourceVersion(rv)
			}
		case op < 36:
			got := s.commit()
			compare(t, m, got)
			s.upset(r)
		default:
			st := state{m.commit().(*model), s.commit()}
			compare(t, st.want, st.got)
			if len(kept) < 30 || r.IntN(4) == 0 {
				kept = append(kept, st)
			}
		}
	}
	for i, st := range kept {
		compare(t, st.want, st.got)
		if v, ok := st.got.(view); ok {
			for _, j := range []int{max(0, i-1), r.IntN(len(kept))} {
				compareDiff(t, kept[j].want, st.want, kept[j].got.(view).Snapshot, v.Snapshot)
				compareDiff(t, st.want, kept[j].want, v.Snapshot, kept[j].got.(view).Snapshot)
			}
		}
	}
}

// relist returns what a server might answer: most objects as copies of the same
// version, some changed, some gone, some new, one twice.
func relist(r *rand.Rand, now iter.Seq[*pod], serial int) []*pod {
	var pods []*pod
	for p := range now {
		switch r.IntN(6) {
		case 0:
		case 1:
			q := randomPod(r, serial)
			q.Namespace, q.Name = p.Namespace, p.Name
			pods = append(pods, q)
		default:
			pods = append(pods, p.DeepCopy())
		}
	}
	for range r.IntN(3) {
		pods = append(pods, randomPod(r, serial))
	}
	r.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
	if len(pods) > 0 && r.IntN(3) == 0 {
		pods = append(pods, pods[0])
	}
	return pods
}

func TestStoresConformToTheModel(t *testing.T) {
	t.Parallel()
	steps := 1_000
	if testing.Short() {
		steps = 300
	}
	stores := map[string]func(t testing.TB) store{
		"model":             func(testing.TB) store { return &model{pods: map[types.NamespacedName]*pod{}} },
		"batches":           func(t testing.TB) store { return newKit(t, 0) },
		"single writes":     func(t testing.TB) store { k := newKit(t, 0); k.perWrite = true; return k },
		"indexes on the go": func(t testing.TB) store { k := newKit(t, 0); k.restless = true; return k },
		// Records keep the upper half of a hash only, other tries use all of it.
		"four hashes": func(t testing.TB) store { return newKit(t, ^uint32(3)) },
		"half a hash": func(t testing.TB) store { return newKit(t, 1<<16-1) },
		"one hash":    func(t testing.TB) store { return newKit(t, ^uint32(0)) },
	}
	for name, make := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conform(t, seed(t), make(t), steps)
		})
	}
}
