package pmap

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// eightKeys are the keys of eight numbers in these tests; 0 is that of a number not in use.
type eightKeys [arrayFan]int

// store gives a number another key, as the batch that has called Add or Remove.
func store(e Edit[eightKeys], i uint32, key int) {
	if !e.Own {
		c := &eightKeys{}
		if *e.Keys != nil {
			*c = **e.Keys
		}
		*e.Keys = c
	}
	(*e.Keys)[i%arrayFan] = key
}

// arrayModel is an Array beside the Go map that it has to agree with.
type arrayModel struct {
	Array[*item, eightKeys]
	want map[uint32]*item
}

func (m *arrayModel) snapshot() *arrayModel {
	return &arrayModel{m.Array, maps.Clone(m.want)}
}

// check compares everything that the array can be asked for with the model.
func (m *arrayModel) check(t testing.TB) {
	t.Helper()
	require.Equal(t, len(m.want), m.Len())
	for i, v := range m.want {
		w, k, used := m.Find(i)
		if m.Get(i) != v || m.Near(i)[i%arrayFan] != v || w != v || !used || k[i%arrayFan] != v.key || m.Keys(i) != k {
			require.Failf(t, "another value or key", "number %d", i)
		}
	}
	for _, i := range []uint32{0, 7, 8, 63, 64, 600, 1 << 20, 1<<32 - 1} {
		m.Prefetch(i) // any number will do
		if _, used := m.want[i]; !used {
			_, _, used := m.Find(i)
			require.False(t, used)
		}
	}
	n := 0
	m.Each(func(i uint32, v *item, k *eightKeys) bool {
		require.True(t, m.want[i] == v && k[i%arrayFan] == v.key)
		for j, key := range k {
			require.True(t, key == 0 || m.want[i-i%arrayFan+uint32(j)] != nil, "a removed key is not kept")
		}
		n++
		return true
	})
	require.Len(t, m.want, n)
	var got []*item
	require.True(t, m.Runs(func(vals []*item) bool {
		require.LessOrEqual(t, len(vals), arrayFan)
		got = append(got, vals...)
		return true
	}))
	var want []*item
	for _, i := range slices.Sorted(maps.Keys(m.want)) {
		want = append(want, m.want[i])
	}
	require.True(t, slices.Equal(want, got), "in the order of the numbers, each once")
	if len(m.want) == 0 {
		require.Equal(t, Array[*item, eightKeys]{}, m.Array, "an empty array holds no memory")
	}
}

// lowestFree is the number that Add must choose.
func (m *arrayModel) lowestFree() uint32 {
	for i := uint32(0); ; i++ {
		if _, used := m.want[i]; !used {
			return i
		}
	}
}

// checkArrayDiff expects from DiffArrays exactly what distinguishes the two models.
func checkArrayDiff(t testing.TB, a, b *arrayModel) {
	t.Helper()
	got := map[uint32]Delta[*item]{}
	seen := map[uint32]bool{}
	require.True(t, DiffArrays(a.Array, b.Array, func(i uint32, d *ArrayDelta[*item, eightKeys]) bool {
		require.False(t, seen[i], "each number once")
		seen[i] = true
		require.True(t, d.HasOld || d.HasNew)
		require.True(t, !d.HasOld || d.OldKeys[i%arrayFan] == d.Old.key)
		require.True(t, !d.HasNew || d.NewKeys[i%arrayFan] == d.New.key)
		if d.Old != d.New {
			got[i] = Delta[*item]{Old: d.Old, New: d.New, HasOld: d.HasOld, HasNew: d.HasNew}
		}
		return true
	}))
	want := map[uint32]Delta[*item]{}
	for i, v := range a.want {
		if w, ok := b.want[i]; !ok || v != w {
			want[i] = Delta[*item]{Old: v, New: w, HasOld: true, HasNew: ok}
		}
	}
	for i, w := range b.want {
		if _, ok := a.want[i]; !ok {
			want[i] = Delta[*item]{New: w, HasNew: true}
		}
	}
	require.True(t, maps.Equal(want, got))
}

func TestArrayDoesWhatAMapDoesAndItsVersionsStay(t *testing.T) {
	t.Parallel()
	for _, most := range []int{1, 3, 8, 9, 64, 65, 600} {
		rng := rand.New(rand.NewPCG(seed(t), uint64(most)))
		m := &arrayModel{want: map[uint32]*item{}}
		versions := []*arrayModel{m.snapshot()}
		for gen := uint64(1); gen < 60; gen++ {
			// Up and down again, so that levels come and go.
			grows := gen%20 < 10
			for range rng.IntN(max(2, most/8)) {
				v := &item{key: int(gen)}
				switch used := slices.Collect(maps.Keys(m.want)); {
				case len(used) == 0 || len(used) < most && grows && rng.IntN(4) > 0:
					i, k := m.Add(gen, v)
					store(k, i, v.key)
					require.Equal(t, m.lowestFree(), i)
					require.NotContains(t, m.want, i)
					m.want[i] = v
				case rng.IntN(2) == 0:
					i := used[rng.IntN(len(used))]
					v.key = m.want[i].key // it stays
					require.Same(t, m.want[i], m.Set(gen, i, v))
					m.want[i] = v
				default:
					i := used[rng.IntN(len(used))]
					old, k := m.Remove(gen, i)
					require.Same(t, m.want[i], old)
					if delete(m.want, i); k.Keys != nil {
						store(k, i, 0)
					}
				}
			}
			m.check(t)
			versions = append(versions, m.snapshot())
		}
		for i, v := range versions {
			v.check(t)
			checkArrayDiff(t, v, versions[rng.IntN(len(versions))])
			checkArrayDiff(t, versions[max(0, i-1)], v)
		}
	}
}

// filledArray has n values, under the numbers from 0 on.
func filledArray(n int) *Array[*item, eightKeys] {
	a := &Array[*item, eightKeys]{}
	for i := range n {
		n, k := a.Add(1, &item{key: i})
		store(k, n, i)
	}
	return a
}

func TestArrayOfABurstGivesItsMemoryBack(t *testing.T) {
	t.Parallel()
	const n = 10_000
	a := filledArray(n)
	plain := func(n uintptr) int { return int(n) }
	eightBytes := func(k *eightKeys) int { return int(unsafe.Sizeof(*k)) }
	before := a.Bytes(plain, eightBytes)
	for i := range uint32(n - 10) {
		a.Remove(2, n-1-i)
	}
	require.Equal(t, filledArray(10).Bytes(plain, eightBytes), a.Bytes(plain, eightBytes))
	require.Less(t, a.Bytes(plain, eightBytes), before/100)
	// The worst case: one value in each leaf. It takes a leaf, and a share of the nodes.
	a = filledArray(n)
	for i := range uint32(n) {
		if i%arrayFan != 0 {
			a.Remove(3, i)
		}
	}
	require.Less(t, a.Bytes(plain, eightBytes), n/arrayFan*2*int(unsafe.Sizeof(arrayLeaf[*item, eightKeys]{})+unsafe.Sizeof(eightKeys{})))
	require.Equal(t, before, filledArray(n).Bytes(plain, eightBytes))
	require.Zero(t, new(Array[*item, eightKeys]).Bytes(plain, eightBytes))
}

// The first child of the root becomes the root, and most of its children are full.
func TestAddAfterAnArrayHasLostALevel(t *testing.T) {
	t.Parallel()
	for _, n := range []uint32{65, 500, 5000} {
		a := filledArray(int(n))
		levels := a.shift
		for i := n - 1; i > 60; i-- {
			a.Remove(2, i)
		}
		require.Less(t, a.shift, levels)
		for i := uint32(61); i < 200; i++ {
			n, _ := a.Add(3, &item{key: int(i)})
			require.Equal(t, i, n)
		}
		for i := range uint32(200) {
			require.Equal(t, int(i), a.Get(i).key)
		}
	}
}

func TestArrayWithoutKeysCountsNone(t *testing.T) {
	t.Parallel()
	a := &Array[uint32, struct{}]{}
	a.Add(1, 7)
	require.Equal(t, int(unsafe.Sizeof(arrayLeaf[uint32, struct{}]{})), a.Bytes(func(n uintptr) int { return int(n) }, nil))
}

// A batch may change the keys that it has stored, and no others: not even those that another
// state of the same batch has.
func TestBatchOwnsTheKeysThatItHasStored(t *testing.T) {
	t.Parallel()
	a := &Array[*item, eightKeys]{}
	add := func(gen uint64) bool { _, k := a.Add(gen, &item{}); return k.Own }
	remove := func(gen uint64, i uint32) bool { _, k := a.Remove(gen, i); return k.Own }
	require.False(t, add(1), "there are none")
	require.True(t, add(1))
	require.True(t, remove(1, 1))
	require.False(t, add(2))
	require.True(t, add(2))
	a.Set(3, 0, &item{})
	require.False(t, remove(3, 0), "Set does not store keys")
	require.True(t, add(3))
}

func TestRemovedValueIsNotKeptByItsArray(t *testing.T) {
	t.Parallel()
	a := filledArray(3)
	a.Remove(1, 1)
	require.Nil(t, (*arrayLeaf[*item, eightKeys])(a.kids[0]).vals[1])
	n, _ := a.Add(1, &item{key: 7})
	require.Equal(t, uint32(1), n, "the number is free")
}

func TestOneWriteCopiesOnePathOfAnArray(t *testing.T) {
	a := filledArray(100_000)
	v := &item{}
	gen := uint64(1)
	i := uint32(0)
	// Six levels, the first of which is in the Array.
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() {
		gen++
		i = (i + 7919) % 100_000
		b := *a
		b.Set(gen, i, v)
	}), 5.0)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		i = (i + 7919) % 100_000
		a.Get(i)
	}))
	a.Set(gen+1, 17, v)
	require.Zero(t, testing.AllocsPerRun(100, func() { a.Set(gen+1, 17, v) }), "the batch owns the path by now")
}

func TestDiffOfArraysVisitsOnlyWhatTheyDoNotShare(t *testing.T) {
	t.Parallel()
	a := filledArray(100_000)
	b := *a
	b.Set(2, 54_321, &item{})
	visited := 0
	found := []uint32{}
	require.True(t, DiffArrays(*a, b, func(i uint32, d *ArrayDelta[*item, eightKeys]) bool {
		visited++
		if d.Old != d.New {
			found = append(found, i)
		}
		require.True(t, d.OldKeys == d.NewKeys, "keys are shared")
		return true
	}))
	require.Equal(t, []uint32{54_321}, found)
	require.LessOrEqual(t, visited, arrayFan)
	// A yield that returns false ends it.
	c := b
	c.Set(3, 7, &item{})
	n := 0
	require.False(t, DiffArrays(*a, c, func(uint32, *ArrayDelta[*item, eightKeys]) bool { n++; return false }))
	require.Equal(t, 1, n)
}

func TestRunsOfAnArrayEndEarly(t *testing.T) {
	t.Parallel()
	a := filledArray(1000)
	a.Remove(2, 3)
	for _, most := range []int{1, 2, 100} {
		n := 0
		require.False(t, a.Runs(func([]*item) bool { n++; return n < most }))
		require.Equal(t, most, n)
	}
}
