package pmap

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// arrayModel is an Array beside the Go map that it has to agree with.
type arrayModel struct {
	Array[*item, int]
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
		w, k := m.Find(i)
		if all := m.Keys(i); m.Get(i) != v || w != v || k == nil || *k != v.key || all != nil && &all[i%arrayFan] != k {
			require.Failf(t, "another value or key", "number %d", i)
		}
	}
	for _, i := range []uint32{0, 7, 8, 63, 64, 600, 1 << 20, 1<<32 - 1} {
		m.Prefetch(i) // any number will do
		if _, used := m.want[i]; !used {
			_, k := m.Find(i)
			require.Nil(t, k)
		}
	}
	m.Each(func(i uint32, v *item, k *int) bool {
		require.True(t, m.want[i] == v && *k == v.key)
		return true
	})
	var got []*item
	require.True(t, m.Runs(func(vals []*item) bool {
		got = append(got, vals...)
		return true
	}))
	var want []*item
	for _, i := range slices.Sorted(maps.Keys(m.want)) {
		want = append(want, m.want[i])
	}
	require.True(t, slices.Equal(want, got), "in the order of the numbers, each once")
	if len(m.want) == 0 {
		require.Equal(t, Array[*item, int]{}, m.Array, "an empty array holds no memory")
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
	require.True(t, DiffArrays(a.Array, b.Array, func(i uint32, d *ArrayDelta[*item, int]) bool {
		require.False(t, seen[i], "each number once")
		seen[i] = true
		require.True(t, d.OldKey == nil || *d.OldKey == d.Old.key)
		require.True(t, d.NewKey == nil || *d.NewKey == d.New.key)
		if d.Old != d.New {
			got[i] = Delta[*item]{Old: d.Old, New: d.New, HasOld: d.OldKey != nil, HasNew: d.NewKey != nil}
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
	type add = func(*Array[*item, int], uint64, *item) (uint32, *int)
	for _, most := range []int{1, 3, 8, 9, 64, 65, 600} {
		rng := rand.New(rand.NewPCG(seed(t), uint64(most)))
		m := &arrayModel{want: map[uint32]*item{}}
		versions := []*arrayModel{m.snapshot()}
		for gen := uint64(1); gen < 60; gen++ {
			// Up and down again, so that levels come and go.
			grows := gen%20 < 10
			add := []add{(*Array[*item, int]).Add, (*Array[*item, int]).AddFew}[rng.IntN(2)]
			for range rng.IntN(max(2, most/8)) {
				v := &item{key: int(gen)}
				switch used := slices.Collect(maps.Keys(m.want)); {
				case len(used) == 0 || len(used) < most && grows && rng.IntN(4) > 0:
					i, k := add(&m.Array, gen, v)
					require.Zero(t, *k, "a removed key is not kept")
					*k = v.key
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
					require.Same(t, m.want[i], m.Remove(gen, i))
					delete(m.want, i)
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
func filledArray(n int) *Array[*item, int] {
	a := &Array[*item, int]{}
	for i := range n {
		_, k := a.Add(1, &item{key: i})
		*k = i
	}
	return a
}

func TestArrayOfABurstGivesItsMemoryBack(t *testing.T) {
	t.Parallel()
	const n = 10_000
	a := filledArray(n)
	plain := func(n uintptr) int { return int(n) }
	before := a.Bytes(plain)
	for i := range uint32(n - 10) {
		a.Remove(2, n-1-i)
	}
	require.Equal(t, filledArray(10).Bytes(plain), a.Bytes(plain))
	require.Less(t, a.Bytes(plain), before/100)
	// The worst case: one value in each leaf. It takes a leaf, and a share of the nodes.
	a = filledArray(n)
	for i := range uint32(n) {
		if i%arrayFan != 0 {
			a.Remove(3, i)
		}
	}
	require.Less(t, a.Bytes(plain), n/arrayFan*2*int(unsafe.Sizeof(arrayLeaf[*item, int]{})+unsafe.Sizeof([arrayFan]int{})))
	require.Equal(t, before, filledArray(n).Bytes(plain))
	require.Zero(t, new(Array[*item, int]).Bytes(plain))
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

// The room for keys doubles when it is used up, whether a batch adds one value or all.
func TestFewValuesHaveRoomForFewKeys(t *testing.T) {
	t.Parallel()
	for name, genOf := range map[string]func(i int) uint64{"a batch each": func(i int) uint64 { return uint64(i) }, "one batch": func(int) uint64 { return 1 }} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &Array[*item, int]{}
			for i, room := range []uint32{1, 2, 4, 4, 8, 8, 8, 8} {
				n, k := a.AddFew(genOf(i), &item{key: i})
				*k = i
				require.Equal(t, uint32(i), n)
				l := (*arrayLeaf[*item, int])(a.kids[0])
				require.Equal(t, room, l.room())
				require.Equal(t, room == arrayFan, a.Keys(0) != nil, "all of them, or none")
				sizes := 0
				a.Bytes(func(n uintptr) int { sizes += int(n); return 0 })
				require.Equal(t, int(unsafe.Sizeof(*l)+uintptr(room)*unsafe.Sizeof(i)), sizes)
				for j := range i + 1 {
					require.Equal(t, j, *l.key(uint32(j)))
				}
			}
		})
	}
	require.NotNil(t, filledArray(1).Keys(0), "Add makes room for all")
}

func TestRemovedValueIsNotKeptByItsArray(t *testing.T) {
	t.Parallel()
	a := filledArray(3)
	a.Remove(1, 1)
	require.Nil(t, (*arrayLeaf[*item, int])(a.kids[0]).vals[1])
	require.Zero(t, *(*arrayLeaf[*item, int])(a.kids[0]).key(1))
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
	require.True(t, DiffArrays(*a, b, func(i uint32, d *ArrayDelta[*item, int]) bool {
		visited++
		if d.Old != d.New {
			found = append(found, i)
		}
		require.True(t, d.OldKey == d.NewKey, "keys are shared")
		return true
	}))
	require.Equal(t, []uint32{54_321}, found)
	require.LessOrEqual(t, visited, arrayFan)
	// A yield that returns false ends it.
	c := b
	c.Set(3, 7, &item{})
	n := 0
	require.False(t, DiffArrays(*a, c, func(uint32, *ArrayDelta[*item, int]) bool { n++; return false }))
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
