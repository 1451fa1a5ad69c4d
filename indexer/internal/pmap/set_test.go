package pmap

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// element has any hash that a test wants.
type element struct {
	hash uint32
	key  int
}

func (x element) Hash() uint32 { return x.hash }

// leafCap is small, so that small sets have several levels.
const leafCap = 16

func (element) LeafCap() int { return leafCap }

// hashes are the hash functions of the tests. All but the first make equal hashes, or nearly so.
var hashes = []func(key int) uint32{
	func(key int) uint32 { return uint32(key) * 0x9e3779b1 },
	func(key int) uint32 { return uint32(key) },
	func(key int) uint32 { return uint32(key) << 22 },
	func(key int) uint32 { return uint32(key) % 16 },
	func(key int) uint32 { return uint32(key) % 2 << 31 },
	func(int) uint32 { return 0 },
	func(int) uint32 { return 1<<32 - 1 },
}

// setModel is a Set with the Go map that it has to agree with. Each key is there once, with the
// element that was put there last.
type setModel struct {
	Set[element]
	hash func(int) uint32
	want map[int]bool
}

func (m *setModel) version() *setModel { return &setModel{m.Set, m.hash, maps.Clone(m.want)} }

func (m *setModel) element(key int) element { return element{m.hash(key), key} }

func (m *setModel) toggle(t testing.TB, e Edit, key int) {
	x := m.element(key)
	require.Equal(t, m.want[key], slices.Contains(m.Find(x.Hash()), x))
	if m.want[key] {
		m.Delete(e, x)
		delete(m.want, key)
		return
	}
	m.Add(e, x)
	m.want[key] = true
}

// replace puts another key in the place of one, if it has the same hash.
func (m *setModel) replace(e Edit, key, other int) {
	if m.want[key] && !m.want[other] && m.hash(key) == m.hash(other) {
		m.Replace(e, m.element(key), m.element(other))
		delete(m.want, key)
		m.want[other] = true
	}
}

func (m *setModel) check(t testing.TB) {
	t.Helper()
	require.Equal(t, len(m.want), m.Len())
	for key := range m.want {
		x := m.element(key)
		if !slices.Contains(m.Find(x.hash), x) {
			require.Failf(t, "not found", "key %d", key)
		}
	}
	seen := map[int]bool{}
	for x := range m.All() {
		require.True(t, m.want[x.key] && !seen[x.key])
		seen[x.key] = true
	}
	require.Len(t, seen, len(m.want))
	m.root.checkShape(t, 0, 0)
}

// checkShape checks what the operations rely on.
func (n *node[E]) checkShape(t testing.TB, shift uint, hash uint32) {
	t.Helper()
	if n == nil {
		return
	}
	if n.kids == nil {
		require.Len(t, n.elems, n.n)
		require.Positive(t, n.n, "no leaf is empty")
		require.True(t, n.n <= leafCap || shift >= lastShift, "a full leaf is divided while there are bits")
		for _, x := range n.elems {
			require.Equal(t, hash, x.Hash()&(1<<shift-1))
		}
		return
	}
	require.Empty(t, n.elems)
	require.Greater(t, n.n, leafCap/2, "sparse leaves are merged")
	sum := 0
	for i, kid := range n.kids {
		if kid != nil {
			kid.checkShape(t, shift+slotBits, hash|uint32(i)<<shift)
			sum += kid.n
		}
	}
	require.Equal(t, n.n, sum)
}

func TestSetDoesWhatAMapDoesAndItsVersionsStay(t *testing.T) {
	t.Parallel()
	for i, hash := range hashes {
		rng := random(t)
		keys := 1500
		if i > 2 { // long leaves are slow, and no different from short ones
			keys = 90
		}
		m := &setModel{hash: hash, want: map[int]bool{}}
		versions := []*setModel{m.version()}
		for batch := range 120 {
			e := NewEdit()
			for range 1 + rng.IntN(keys/8) {
				key := rng.IntN(keys)
				if grows := batch%40 < 20; grows != m.want[key] || rng.IntN(4) == 0 {
					m.toggle(t, e, key)
				}
				m.replace(e, rng.IntN(keys), rng.IntN(keys))
			}
			if batch%5 == 0 {
				versions = append(versions, m.version())
			}
		}
		for _, v := range append(versions, m) {
			v.check(t)
		}
		e := NewEdit()
		for key := range maps.Clone(m.want) {
			m.toggle(t, e, key)
		}
		require.Equal(t, Set[element]{}, m.Set, "an empty set holds no memory")
		versions[len(versions)-1].check(t)
	}
}

func FuzzSetDoesWhatAMapDoes(f *testing.F) {
	f.Add(uint8(0), []byte{0, 1, 0, 2, 64, 1, 128, 0, 0, 3})
	f.Add(uint8(5), []byte{0, 0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 128, 1, 64, 2})
	f.Fuzz(func(t *testing.T, hash uint8, prog []byte) {
		m, e := &setModel{hash: hashes[int(hash)%len(hashes)], want: map[int]bool{}}, NewEdit()
		versions := []*setModel{m.version()}
		prog = prog[:min(len(prog), 1<<11)]
		for i := 0; i+1 < len(prog); i += 2 {
			key := int(prog[i]&15)<<8 | int(prog[i+1])
			if int(hash)%len(hashes) > 2 {
				key %= 60
			}
			switch prog[i] >> 6 {
			case 0, 1:
				m.toggle(t, e, key)
			case 2:
				m.replace(e, key, key^int(prog[i]))
			default:
				if e = NewEdit(); len(versions) < 20 {
					versions = append(versions, m.version())
				}
			}
		}
		for _, v := range append(versions, m) {
			v.check(t)
		}
	})
}

func filledSet(n int) *Set[element] {
	s, e := &Set[element]{}, NewEdit()
	for i := range n {
		s.Add(e, element{hashes[0](i), i})
	}
	return s
}

func TestOneAddCopiesOnePath(t *testing.T) {
	s := filledSet(50_000)
	i := 50_000
	// An allocation for each of five levels, two for the leaf, and two for each of eight if that is divided.
	require.LessOrEqual(t, testing.AllocsPerRun(1000, func() {
		next := *s
		next.Add(NewEdit(), element{hashes[0](i), i})
		i++
	}), 15.0)
	require.Zero(t, testing.AllocsPerRun(100, func() { s.Find(hashes[0](i)); i++ }))
}

func TestDeletedElementIsNotKeptByItsSet(t *testing.T) {
	t.Parallel()
	s, e := filledSet(3), NewEdit()
	s.Delete(e, element{hashes[0](1), 1})
	require.Equal(t, element{}, s.root.elems[:3][2])
}

func TestIterationOfASetEndsWhenAskedTo(t *testing.T) {
	t.Parallel()
	s := filledSet(1000)
	first := slices.Collect(s.All())
	require.Equal(t, first, slices.Collect(s.All()), "the same order each time")
	for _, most := range []int{1, 2, 100} {
		n := 0
		for range s.All() {
			if n++; n == most {
				break
			}
		}
		require.Equal(t, most, n)
	}
}
