package pmap

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func mixed() *trieMap { return &trieMap{hash: hashes["mixed"]} }

func filled(n int) *trieMap {
	m := mixed()
	for k := range n {
		m.put(1, &item{key: k})
	}
	return m
}

func TestReadersSeeWholeVersionsWhileTheWriterGoesOn(t *testing.T) {
	t.Parallel()
	const keys = 500
	var current atomic.Pointer[trieMap]
	current.Store(mixed())
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				m := current.Load()
				first, n := -1, 0
				m.each(func(i *item) bool {
					if first < 0 {
						first = i.ver
					}
					if i.ver != first {
						t.Errorf("versions %d and %d in one version of the map", first, i.ver)
					}
					n++
					return true
				})
				if n != m.len() {
					t.Errorf("%d values, len is %d", n, m.len())
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	// Each batch rewrites all keys, half of them twice, and drops some.
	for gen := uint64(1); gen <= 200; gen++ {
		next := *current.Load()
		for k := range keys {
			next.put(gen, &item{k, -1})
		}
		for k := range keys {
			if k%10 == int(gen%10) {
				next.remove(gen, k)
			} else {
				next.edit(gen, &item{k, int(gen)})
			}
		}
		current.Store(&next)
	}
	close(done)
	wg.Wait()
}

func TestDiffCostsAsMuchAsTheChange(t *testing.T) {
	t.Parallel()
	const n = 100_000
	a := filled(n)
	for _, changed := range []int{0, 1, 100, 1000} {
		b := a.snapshot().(*trieMap)
		for k := range changed {
			b.edit(2, &item{k * 97, 1})
		}
		hashed, looked, found := 0, 0, 0
		Diff(a.Trie, b.Trie, Compare[*item]{
			Hash:    func(i *item) uint64 { hashed++; return a.hashOf(i) },
			SameKey: func(x, y *item) bool { return x.key == y.key },
			Equal:   func(x, y *item) bool { looked++; return x == y },
		}, func(Delta[*item]) bool { found++; return true })
		require.Equal(t, changed, found)
		require.LessOrEqual(t, looked, leafCap*changed, "values compared for %d changes", changed)
		require.Zero(t, hashed, "leaves at the same place are compared without looking up their values")
	}
}

func TestDiffAllocatesTheSameForAnyChange(t *testing.T) {
	a := filled(10_000)
	for _, changed := range []int{1, 2_000} {
		b := a.snapshot().(*trieMap)
		for k := range changed {
			b.edit(2, &item{k, 1})
			b.remove(2, 9_000+k)
			b.put(2, &item{20_000 + k, 1})
		}
		found := 0
		c := Compare[*item]{
			Hash:    a.hashOf,
			SameKey: func(x, y *item) bool { return x.key == y.key },
			Equal:   func(x, y *item) bool { return x == y },
		}
		allocs := testing.AllocsPerRun(5, func() {
			Diff(a.Trie, b.Trie, c, func(Delta[*item]) bool { found++; return true })
		})
		require.LessOrEqual(t, allocs, 5.0, "%d found", found)
	}
}

func TestDiffStopsWhenAskedTo(t *testing.T) {
	t.Parallel()
	a, b := mixed(), filled(1000)
	n := 0
	c := Compare[*item]{
		Hash:    a.hashOf,
		SameKey: func(x, y *item) bool { return x.key == y.key },
		Equal:   func(x, y *item) bool { return x == y },
	}
	stop := func(Delta[*item]) bool { n++; return n < 3 }
	require.False(t, Diff(a.Trie, b.Trie, c, stop))
	require.Equal(t, 3, n)
	n = 0
	require.False(t, Diff(b.Trie, a.Trie, c, stop))
	require.Equal(t, 3, n)
}

func TestEachStopsWhenAskedTo(t *testing.T) {
	t.Parallel()
	for name, hash := range hashes {
		m := &trieMap{hash: hash}
		for k := range 60 {
			m.put(1, &item{key: k})
		}
		n := 0
		require.False(t, m.each(func(*item) bool { n++; return n < 40 }), name)
		require.Equal(t, 40, n, name)
	}
}

func TestSameOrderEachTime(t *testing.T) {
	t.Parallel()
	m := filled(1000)
	var a, b []*item
	m.each(func(i *item) bool { a = append(a, i); return true })
	m.each(func(i *item) bool { b = append(b, i); return true })
	require.Equal(t, a, b)
}

func TestReadingAllocatesNothing(t *testing.T) {
	m := filled(10_000)
	sum := 0
	require.Zero(t, testing.AllocsPerRun(10, func() {
		for k := range 1000 {
			if v, ok := m.find(k); ok {
				sum += v.key
			}
		}
		m.each(func(i *item) bool { sum += i.key; return true })
	}))
}

// Promise of the package: a batch copies a node at most once, so never one that it
// made itself. Values that differ in one bit only are added until that bit divides
// the leaf.
func TestBatchDoesNotCopyItsOwnNodes(t *testing.T) {
	for _, tc := range []struct {
		bit    int
		allocs float64
	}{
		{63, 1 + 1 + 2},           // the first leaf, the root, and two leaves
		{60, 1 + 1 + 3*2 + 1 + 2}, // divided three times below the root, then below a second node
	} {
		hash := func(k int) uint64 { return uint64(k) << tc.bit }
		require.Equal(t, tc.allocs, testing.AllocsPerRun(10, func() {
			var trie Trie[int]
			for k := range leafCap + 1 {
				trie.Put(1, hash(k&1), k, func(o int) bool { return o == k }, func(o int) uint64 { return hash(o & 1) })
			}
		}), "dividing at bit %d", tc.bit)
	}
}

func TestRemovingWhatIsNotThereCopiesNothing(t *testing.T) {
	t.Parallel()
	m := filled(1000)
	before := m.Trie
	_, ok := m.remove(2, -1)
	require.False(t, ok)
	require.Equal(t, before, m.Trie)
}

// A version of a few values is one leaf, without nodes above it that would be
// copied. It stays as it is, too, and what is empty is the zero Trie.
func TestSmallVersionsStayAndEndEmpty(t *testing.T) {
	t.Parallel()
	for n := 1; n <= leafCap+2; n++ {
		m := filled(n)
		before := m.Trie
		for k := range n {
			m.edit(2, &item{key: k, ver: 1})
		}
		before.Each(func(i *item) bool { require.Zero(t, i.ver, "%d values", n); return true })
		edited := m.Trie
		for k := range n {
			m.remove(3, k)
		}
		require.Equal(t, Trie[*item]{}, m.Trie, "%d values", n)
		require.Equal(t, n, edited.Len())
		edited.Each(func(i *item) bool { require.Equal(t, 1, i.ver, "%d values", n); return true })
	}
}

// A shared node is passed by as a whole: nothing below it is looked at, however
// deep the two versions differ beside it.
func TestDiffVisitsNoSharedNode(t *testing.T) {
	t.Parallel()
	a := filled(10_000)
	b := a.snapshot().(*trieMap)
	b.edit(2, &item{key: 5, ver: 1})
	n, m := (*inner)(a.root), (*inner)(b.root)
	shared := 0
	for i := range uint64(fan) {
		if n.kids[i] != m.kids[i] {
			continue
		}
		require.False(t, n.isLeaf(i))
		shared++
		// A walk that came here would find no child to go on with.
		hollow := &inner{}
		n.kids[i], m.kids[i] = unsafe.Pointer(hollow), unsafe.Pointer(hollow)
	}
	require.Equal(t, fan-1, shared)
	found := 0
	require.True(t, Diff(a.Trie, b.Trie, Compare[*item]{
		Hash: a.hashOf, SameKey: func(x, y *item) bool { return x.key == y.key },
		Equal: func(x, y *item) bool { return x == y },
	}, func(Delta[*item]) bool { found++; return true }))
	require.Equal(t, 1, found)
}

func TestDiffDoesNotCallAfterTheStop(t *testing.T) {
	t.Parallel()
	a, b := filled(60), filled(9) // leaves on one side, inner nodes on the other
	diff := func(x, y *trieMap, stop int) (calls int) {
		Diff(x.Trie, y.Trie, Compare[*item]{
			Hash: x.hashOf, SameKey: func(x, y *item) bool { return x.key == y.key },
			Equal: func(x, y *item) bool { return x == y },
		}, func(Delta[*item]) bool { calls++; return calls < stop })
		return calls
	}
	for stop := 1; stop <= 60; stop++ {
		require.Equal(t, stop, diff(a, b, stop))
		require.Equal(t, stop, diff(b, a, stop))
	}
}

func TestAChainThatHasBecomeShortIsALeafAgain(t *testing.T) {
	t.Parallel()
	m := &trieMap{hash: func(int) uint64 { return 42 }}
	for k := range 20 {
		m.put(1, &item{key: k})
	}
	require.Zero(t, m.size&1, "values of one hash are in a chain below inner nodes")
	for k := range 20 - mergeAt {
		m.remove(2, k)
	}
	require.NotZero(t, m.size&1, "the few that are left are one leaf")
	checkShape(t, m)
}

func TestTrieShrinksAgain(t *testing.T) {
	t.Parallel()
	m := filled(10_000)
	for k := range 9_995 {
		m.remove(2, k)
	}
	nodes := countNodes(m.Trie)
	require.LessOrEqual(t, nodes, 8, "5 of 10,000 values need few nodes")
}

// countNodes counts leaves and inner nodes.
func countNodes[V any](t Trie[V]) int {
	if t.root == nil || t.size&1 != 0 {
		return 1
	}
	var count func(n *inner, base uint) int
	count = func(n *inner, base uint) int {
		sum := 1
		for i := uint64(0); i < fan; i += spanAt[V](n, i, base) {
			if n.isLeaf(i) {
				sum++
			} else {
				sum += count((*inner)(n.kids[i]), base+fanBits)
			}
		}
		return sum
	}
	return count((*inner)(t.root), 0)
}

func ExampleTrie() {
	type user struct{ name, mail string }
	hash := func(u user) uint64 { return uint64(len(u.name)) } // any function of the key
	put := func(t *Trie[user], gen uint64, u user) {
		t.Put(gen, hash(u), u, func(o user) bool { return o.name == u.name }, hash)
	}

	var v1 Trie[user]
	put(&v1, 1, user{"ann", "ann@a"})
	put(&v1, 1, user{"bob", "bob@b"})
	v2 := v1 // a snapshot
	put(&v2, 2, user{"ann", "ann@x"})

	Diff(v1, v2, Compare[user]{
		Hash:    hash,
		SameKey: func(a, b user) bool { return a.name == b.name },
		Equal:   func(a, b user) bool { return a == b },
	}, func(d Delta[user]) bool {
		fmt.Println(d.Old.mail, "became", d.New.mail)
		return true
	})
	// Output: ann@a became ann@x
}

// Near names every value that Find would find, and no place without a value.
func TestNearHasWhatFindFinds(t *testing.T) {
	t.Parallel()
	for name, hash := range hashes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &trieMap{hash: hash}
			_, mask, all := m.Near(hash(0))
			require.True(t, mask == 0 && !all, "an empty trie has nothing")
			for size := range 200 {
				m.put(uint64(size+1), &item{key: size})
				for k := range size + 20 {
					vals, mask, all := m.Near(hash(k))
					found := 0
					for i, v := range vals {
						if (all || mask>>(8*i+7)&1 != 0) && v.key == k { // v is not nil
							found++
						}
					}
					_, ok := m.find(k)
					require.Equal(t, ok, found == 1, "key %d of %d", k, size)
					require.LessOrEqual(t, found, 1)
				}
			}
		})
	}
}
