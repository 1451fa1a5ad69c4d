package pmap

import (
	"maps"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// item is a value with a key and a version.
type item struct {
	key int
	ver int
}

// hashes are from ideal to hopeless: the trie must be right with all of them.
var hashes = map[string]func(k int) uint64{
	"mixed":    func(k int) uint64 { return mix(uint64(k)) },
	"identity": func(k int) uint64 { return uint64(k) },
	"shifted":  func(k int) uint64 { return uint64(k) << 48 },
	"16values": func(k int) uint64 { return mix(uint64(k) % 16) },
	"constant": func(int) uint64 { return 0xdeadbeef },
	"lowbit":   func(k int) uint64 { return uint64(k) & 1 },
	"sparse":   func(k int) uint64 { return mix(uint64(k)) & 0x8001000000000103 },
}

func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// seed is printed by every random test; PMAP_SEED repeats a run.
func seed(t testing.TB) uint64 {
	s := uint64(time.Now().UnixNano())
	if e := os.Getenv("PMAP_SEED"); e != "" {
		n, err := strconv.ParseUint(e, 10, 64)
		require.NoError(t, err)
		s = n
	}
	t.Logf("repeat with PMAP_SEED=%d", s)
	return s
}

// versioned is what all persistent maps of this package have in common; they
// are driven through the same operations as a Go map.
type versioned interface {
	len() int
	find(k int) (*item, bool)
	put(gen uint64, v *item) (*item, bool)
	edit(gen uint64, v *item) (*item, bool) // overwrite if present
	remove(gen uint64, k int) (*item, bool)
	each(func(*item) bool) bool
	snapshot() versioned
}

var implementations = map[string]func(hash func(int) uint64) versioned{
	"trie":   func(h func(int) uint64) versioned { return &trieMap{hash: h} },
	"hashed": func(h func(int) uint64) versioned { return &hashedMap{hash: h} },
	"btree":  func(h func(int) uint64) versioned { return &btreeMap{btree{hash: h}} },
}

type trieMap struct {
	Trie[*item]
	hash func(int) uint64
}

func (m *trieMap) len() int                     { return m.Len() }
func (m *trieMap) hashOf(i *item) uint64        { return m.hash(i.key) }
func (m *trieMap) each(f func(*item) bool) bool { return m.Each(f) }
func (m *trieMap) snapshot() versioned          { c := *m; return &c }

func (m *trieMap) find(k int) (*item, bool) {
	return m.Find(m.hash(k), func(i *item) bool { return i.key == k })
}

func (m *trieMap) put(gen uint64, v *item) (*item, bool) {
	return m.Put(gen, m.hash(v.key), v, func(i *item) bool { return i.key == v.key }, m.hashOf)
}

func (m *trieMap) edit(gen uint64, v *item) (*item, bool) {
	at := m.Edit(gen, m.hash(v.key), func(i *item) bool { return i.key == v.key })
	if at == nil {
		return nil, false
	}
	old := *at
	*at = v
	return old, true
}

func (m *trieMap) remove(gen uint64, k int) (*item, bool) {
	return m.Remove(gen, m.hash(k), func(i *item) bool { return i.key == k })
}

// hashedMap keeps the hash beside each value, so that dividing a leaf does not
// need to compute it again; the package documentation has the cost.
type hashedMap struct {
	Trie[hashed]
	hash func(int) uint64
}

type hashed struct {
	hash uint64
	*item
}

func is(k int) func(hashed) bool { return func(e hashed) bool { return e.key == k } }

func (m *hashedMap) len() int            { return m.Len() }
func (m *hashedMap) snapshot() versioned { c := *m; return &c }

func (m *hashedMap) each(f func(*item) bool) bool {
	return m.Each(func(e hashed) bool { return f(e.item) })
}

func (m *hashedMap) find(k int) (*item, bool) {
	e, ok := m.Find(m.hash(k), is(k))
	return e.item, ok
}

func (m *hashedMap) put(gen uint64, v *item) (*item, bool) {
	h := m.hash(v.key)
	e, ok := m.Put(gen, h, hashed{h, v}, is(v.key), func(e hashed) uint64 { return e.hash })
	return e.item, ok
}

func (m *hashedMap) edit(gen uint64, v *item) (*item, bool) {
	at := m.Edit(gen, m.hash(v.key), is(v.key))
	if at == nil {
		return nil, false
	}
	old := at.item
	at.item = v
	return old, true
}

func (m *hashedMap) remove(gen uint64, k int) (*item, bool) {
	e, ok := m.Remove(gen, m.hash(k), is(k))
	return e.item, ok
}

type btreeMap struct{ btree }

func (m *btreeMap) len() int            { return m.n }
func (m *btreeMap) snapshot() versioned { c := *m; return &c }
func (m *btreeMap) edit(gen uint64, v *item) (*item, bool) {
	if _, ok := m.find(v.key); !ok {
		return nil, false
	}
	return m.put(gen, v)
}

// machine drives a persistent map and a Go map through the same operations.
type machine struct {
	t    testing.TB
	gen  uint64
	m    versioned
	want map[int]*item
}

// same fails the test if an operation on the map and on the model differ. It is
// called millions of times, which require.Equal is too slow for.
func (m *machine) same(op string, k int, got *item, ok bool) {
	if w, had := m.want[k]; got != w || ok != had {
		m.t.Fatalf("%s %d: got %v, %v, want %v, %v", op, k, got, ok, w, had)
	}
}

func (m *machine) put(k, ver int) {
	v := &item{k, ver}
	got, ok := m.m.put(m.gen, v)
	m.same("put", k, got, ok)
	m.want[k] = v
}

func (m *machine) edit(k, ver int) {
	v := &item{k, ver}
	got, ok := m.m.edit(m.gen, v)
	m.same("edit", k, got, ok)
	if ok {
		m.want[k] = v
	}
}

func (m *machine) remove(k int) {
	got, ok := m.m.remove(m.gen, k)
	m.same("remove", k, got, ok)
	delete(m.want, k)
}

func (m *machine) find(k int) {
	got, ok := m.m.find(k)
	m.same("find", k, got, ok)
}

// version is a state to come back to.
type version struct {
	m    versioned
	want map[int]*item
}

func (m *machine) version() version {
	m.gen++ // the batch ends: what it made stays as it is
	return version{m.m.snapshot(), maps.Clone(m.want)}
}

// check compares a whole version with the model.
func (v version) check(t testing.TB) {
	require.Equal(t, len(v.want), v.m.len())
	n := 0
	v.m.each(func(i *item) bool {
		if v.want[i.key] != i {
			t.Fatalf("iteration yields %v, want %v", i, v.want[i.key])
		}
		n++
		return true
	})
	require.Equal(t, len(v.want), n, "each value once")
	for k, w := range v.want {
		if got, ok := v.m.find(k); !ok || got != w {
			t.Fatalf("key %d: got %v, want %v", k, got, w)
		}
	}
	if m, ok := v.m.(*trieMap); ok {
		checkShape(t, m)
	}
}

// checkDiff expects the diff from v to w to be what their models say.
func checkDiff(t testing.TB, v, w version) {
	a, ok := v.m.(*trieMap)
	if !ok {
		return
	}
	got := maps.Clone(v.want)
	seen := map[int]bool{}
	Diff(a.Trie, w.m.(*trieMap).Trie, Compare[*item]{
		Hash:    a.hashOf,
		SameKey: func(x, y *item) bool { return x.key == y.key },
		Equal:   func(x, y *item) bool { return x == y },
	}, func(d Delta[*item]) bool {
		k := 0
		switch {
		case d.HasOld && v.want[d.Old.key] != d.Old:
			t.Fatalf("diff: old is %v, want %v", d.Old, v.want[d.Old.key])
		case d.HasOld && d.HasNew && d.Old == d.New:
			t.Fatalf("diff: %v did not change", d.Old)
		case d.HasOld:
			k = d.Old.key
			delete(got, k)
		case v.want[d.New.key] != nil:
			t.Fatalf("diff: %v is not new", d.New)
		}
		if d.HasNew {
			k = d.New.key
			got[k] = d.New
		}
		if seen[k] {
			t.Fatalf("diff: key %d twice", k)
		}
		seen[k] = true
		return true
	})
	require.True(t, maps.Equal(got, w.want), "applying the diff to the old version gives the new one")
}

func TestMapsBehaveLikeAGoMapAndOldVersionsStay(t *testing.T) {
	t.Parallel()
	ops := 300_000
	if testing.Short() {
		ops = 20_000
	}
	for impl, make := range implementations {
		for name, hash := range hashes {
			t.Run(impl+"/"+name, func(t *testing.T) {
				t.Parallel()
				keys := 3_000
				if name == "constant" || name == "lowbit" || name == "16values" {
					keys = 80
				}
				r := rand.New(rand.NewPCG(seed(t), 1))
				runModel(t, r, &machine{t: t, gen: 1, m: make(hash), want: map[int]*item{}}, ops, keys)
			})
		}
	}
}

func runModel(t *testing.T, r *rand.Rand, m *machine, ops, keys int) {
	kept := []version{m.version()}
	for i := range ops {
		k := r.IntN(keys)
		// Phases that grow and that shrink, so that every size is met.
		grow := i/(ops/6)%2 == 0
		switch n := r.IntN(8); {
		case n == 0:
			m.find(k)
		case n == 1:
			m.edit(k, i)
		case (n < 7) == grow:
			m.put(k, i)
		default:
			m.remove(k)
		}
		if r.IntN(20) == 0 { // end of a batch
			m.gen++
		}
		if r.IntN(ops/40) == 0 {
			kept = append(kept, m.version())
		}
	}
	kept = append(kept, m.version())
	for i, v := range kept {
		v.check(t)
		checkDiff(t, v, kept[max(i-1, 0)])
		checkDiff(t, kept[max(i-1, 0)], v)
		checkDiff(t, v, kept[r.IntN(len(kept))])
	}
	for k := range maps.Clone(m.want) {
		m.remove(k)
	}
	require.Zero(t, m.m.len())
	require.True(t, m.m.each(func(*item) bool { return false }), "nothing to iterate over")
}

func FuzzTrieBehavesLikeAGoMap(f *testing.F) {
	f.Add(uint8(0), []byte{0, 1, 0, 2, 64, 1, 128, 0, 0, 3})
	f.Add(uint8(4), []byte{0, 0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 128, 1, 64, 2})
	names := []string{"mixed", "identity", "shifted", "16values", "constant", "lowbit", "sparse"}
	f.Fuzz(func(t *testing.T, hash uint8, prog []byte) {
		m := &machine{t: t, gen: 1, m: &trieMap{hash: hashes[names[int(hash)%len(names)]]}, want: map[int]*item{}}
		kept := []version{m.version()}
		prog = prog[:min(len(prog), 1<<12)]
		for i := 0; i+1 < len(prog); i += 2 {
			k := int(prog[i]&7)<<8 | int(prog[i+1])
			if hash%7 > 2 { // long chains are slow, and no different from short ones
				k %= 50
			}
			switch prog[i] >> 5 {
			case 0, 1, 2:
				m.put(k, i)
			case 3:
				m.edit(k, i)
			case 4, 5:
				m.remove(k)
			case 6:
				m.gen++
			case 7:
				if len(kept) < 20 {
					kept = append(kept, m.version())
				}
			}
		}
		kept = append(kept, m.version())
		for i, v := range kept {
			v.check(t)
			checkDiff(t, kept[0], v)
			checkDiff(t, v, kept[len(kept)-1-i])
		}
	})
}
