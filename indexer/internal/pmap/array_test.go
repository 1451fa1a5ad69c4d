package pmap

import (
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// arrayModel is an Array with the Go map that it has to agree with.
type arrayModel struct {
	Array[int]
	want map[uint32]int
}

func (m *arrayModel) version() *arrayModel { return &arrayModel{m.Array, maps.Clone(m.want)} }

func (m *arrayModel) set(e Edit, i uint32, v int) {
	m.Set(e, i, v)
	m.want[i] = v
}

func (m *arrayModel) delete(t testing.TB, e Edit, i uint32) {
	_, used := m.want[i]
	require.Equal(t, used, m.Delete(e, i))
	delete(m.want, i)
}

// lowestFree is the number that Free has to return.
func (m *arrayModel) lowestFree() uint32 {
	for i := uint32(0); ; i++ {
		if _, used := m.want[i]; !used {
			return i
		}
	}
}

// check compares everything that the array can be asked for with the model.
func (m *arrayModel) check(t testing.TB) {
	t.Helper()
	require.Equal(t, len(m.want), m.Len())
	for i, v := range m.want {
		if got := m.Get(i); got == nil || *got != v {
			require.Failf(t, "another value", "number %d", i)
		}
	}
	for _, i := range []uint32{0, 7, 8, 63, 64, 600, 1 << 20, 1<<32 - 1} {
		if _, used := m.want[i]; !used {
			require.Nil(t, m.Get(i))
		}
	}
	require.Equal(t, m.lowestFree(), m.Free())
	var numbers []uint32
	for i, v := range m.All() {
		require.Equal(t, m.want[i], *v)
		numbers = append(numbers, i)
	}
	require.True(t, slices.Equal(slices.Sorted(maps.Keys(m.want)), numbers), "in ascending order, each once")
	if len(m.want) == 0 {
		require.Equal(t, Array[int]{}, m.Array, "an empty array holds no memory")
	}
}

type delta struct {
	old, new       int
	hasOld, hasNew bool
}

// naiveDiff is what Diff has to find.
func naiveDiff(a, b map[uint32]int) map[uint32]delta {
	want := map[uint32]delta{}
	for i, v := range a {
		if w, ok := b[i]; !ok || v != w {
			want[i] = delta{v, w, true, ok}
		}
	}
	for i, w := range b {
		if _, ok := a[i]; !ok {
			want[i] = delta{new: w, hasNew: true}
		}
	}
	return want
}

func checkDiff(t testing.TB, a, b *arrayModel) {
	t.Helper()
	got := map[uint32]delta{}
	last := -1
	Diff(a.Array, b.Array, sameInt, func(i uint32, old, new *int) bool {
		require.Greater(t, int(i), last, "in ascending order, each once")
		last = int(i)
		var d delta
		if old != nil {
			d.old, d.hasOld = *old, true
		}
		if new != nil {
			d.new, d.hasNew = *new, true
		}
		got[i] = d
		return true
	})
	require.True(t, maps.Equal(naiveDiff(a.want, b.want), got))
}

func sameInt(a, b *int) bool { return *a == *b }

func TestArrayDoesWhatAMapDoesAndItsVersionsStay(t *testing.T) {
	t.Parallel()
	for _, most := range []int{1, 3, 8, 9, 64, 65, 600} {
		rng := random(t)
		m := &arrayModel{want: map[uint32]int{}}
		versions := []*arrayModel{m.version()}
		for batch := range 60 {
			e := NewEdit()
			grows := batch%20 < 10 // up and down again, so that levels come and go
			for range 1 + rng.IntN(max(2, most/8)) {
				switch {
				case len(m.want) < most && grows && rng.IntN(4) > 0:
					m.set(e, m.Free(), batch)
				case rng.IntN(9) == 0: // anywhere
					m.set(e, uint32(rng.IntN(4*most)), batch)
				case rng.IntN(2) == 0:
					for i := range m.want {
						m.set(e, i, -batch)
						break
					}
				default:
					m.delete(t, e, uint32(rng.IntN(2*most)))
				}
			}
			m.check(t)
			versions = append(versions, m.version())
		}
		for i, v := range versions {
			v.check(t)
			checkDiff(t, v, versions[rng.IntN(len(versions))])
			checkDiff(t, versions[max(0, i-1)], v)
			checkDiff(t, v, versions[0])
		}
	}
}

func FuzzArrayDoesWhatAMapDoes(f *testing.F) {
	f.Add([]byte{0, 1, 0, 2, 64, 1, 128, 0, 0, 3})
	f.Add([]byte{0, 0, 7, 0, 192, 0, 63, 0, 224, 0, 31, 255, 128, 0, 95, 255})
	f.Fuzz(func(t *testing.T, prog []byte) {
		m, e := &arrayModel{want: map[uint32]int{}}, NewEdit()
		versions := []*arrayModel{m.version()}
		prog = prog[:min(len(prog), 1<<11)]
		for at := 0; at+1 < len(prog); at += 2 {
			i := uint32(prog[at]&31)<<8 | uint32(prog[at+1])
			switch prog[at] >> 5 {
			case 0, 1:
				m.set(e, i, at)
			case 2:
				m.set(e, m.Free(), at)
			case 3, 4:
				m.delete(t, e, i)
			case 5:
				e = NewEdit()
			default:
				if len(versions) < 20 {
					versions = append(versions, m.version())
					e = NewEdit()
				}
			}
		}
		versions = append(versions, m.version())
		for i, v := range versions {
			v.check(t)
			checkDiff(t, versions[0], v)
			checkDiff(t, v, versions[len(versions)-1-i])
		}
	})
}

// filledArray has n values, under the numbers from 0 on.
func filledArray(n int) *Array[int] {
	a, e := &Array[int]{}, NewEdit()
	for i := range n {
		a.Set(e, uint32(i), i)
	}
	return a
}

// nodes counts the nodes of an array.
func (a *Array[V]) nodes() (n int) {
	var count func(*branch[V])
	count = func(b *branch[V]) {
		if b == nil {
			return
		}
		n++
		for i := range fan {
			if b.kids != nil {
				count(b.kids[i])
			} else if b.leaves[i] != nil {
				n++
			}
		}
	}
	count(a.root)
	return n
}

func TestArrayOfABurstGivesItsNodesBack(t *testing.T) {
	t.Parallel()
	const n = 10_000
	a, e := filledArray(n), NewEdit()
	for i := range uint32(n - 10) {
		require.True(t, a.Delete(e, n-1-i))
	}
	require.Equal(t, filledArray(10).nodes(), a.nodes())
	require.Equal(t, uint(leafBits), a.shift)
}

func TestArrayWithOneHighNumberHasOnePath(t *testing.T) {
	t.Parallel()
	var a Array[int]
	e := NewEdit()
	a.Set(e, 1000, 7)
	require.Equal(t, 4, a.nodes())
	require.Zero(t, a.Free())
	require.True(t, a.Delete(e, 1000))
	require.Equal(t, Array[int]{}, a)
}

func TestDeletedValueIsNotKeptByItsArray(t *testing.T) {
	t.Parallel()
	var a Array[*int]
	e := NewEdit()
	for i := range uint32(3) {
		a.Set(e, i, new(int))
	}
	a.Delete(e, 1)
	require.Nil(t, a.root.leaves[0].vals[1])
	require.Equal(t, uint32(1), a.Free())
}

func TestOneWriteCopiesOnePath(t *testing.T) {
	a := filledArray(100_000)
	i := uint32(0)
	next := func() uint32 { i = (i + 7919) % 100_000; return i }
	// Five levels of branches, and a leaf.
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() {
		b := *a
		b.Set(NewEdit(), next(), 7)
	}), 6.0)
	require.Zero(t, testing.AllocsPerRun(100, func() { a.Get(next()) }))
	e := NewEdit()
	a.Set(e, 17, 7)
	require.Zero(t, testing.AllocsPerRun(100, func() { a.Set(e, 17, 8) }), "the batch owns the path by now")
}

func TestDiffVisitsOnlyWhatVersionsDoNotShare(t *testing.T) {
	t.Parallel()
	a := filledArray(100_000)
	b, e := *a, NewEdit()
	b.Set(e, 54_321, 7)
	compared := 0
	var found []uint32
	Diff(*a, b, func(x, y *int) bool { compared++; return *x == *y }, func(i uint32, _, _ *int) bool { found = append(found, i); return true })
	require.Equal(t, []uint32{54_321}, found)
	require.LessOrEqual(t, compared, fan)
	b.Set(e, 7, 8)
	n := 0
	Diff(*a, b, sameInt, func(uint32, *int, *int) bool { n++; return false })
	require.Equal(t, 1, n, "a yield that returns false ends it")
}

func TestIterationEndsWhenAskedTo(t *testing.T) {
	t.Parallel()
	a := filledArray(1000)
	for _, most := range []int{1, 2, 100} {
		n := 0
		for range a.All() {
			if n++; n == most {
				break
			}
		}
		require.Equal(t, most, n)
	}
}

func TestReadersSeeWholeVersionsWhileTheWriterGoesOn(t *testing.T) {
	t.Parallel()
	const size = 500
	var current atomic.Pointer[Array[int]]
	current.Store(&Array[int]{})
	var done atomic.Bool
	var wrong atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for !done.Load() {
				a, first, n := current.Load(), -1, 0
				for _, v := range a.All() {
					if first < 0 {
						first = *v
					}
					if n++; *v != first {
						wrong.Add(1)
					}
				}
				if n != a.Len() {
					wrong.Add(1)
				}
			}
		})
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for batch := range 200 {
		next, e := *current.Load(), NewEdit()
		for i := range uint32(size) { // all of them twice, and some are gone
			next.Set(e, i, -2)
			next.Set(e, i, batch)
			if rng.IntN(10) == 0 {
				next.Delete(e, i)
			}
		}
		current.Store(&next)
	}
	done.Store(true)
	wg.Wait()
	require.Zero(t, wrong.Load())
}
