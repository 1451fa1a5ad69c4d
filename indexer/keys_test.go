package indexer

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/internal/object"
)

// keysModel is keys beside what they have to have.
type keysModel struct {
	*keys
	want [neighbours]types.NamespacedName
}

// at returns the place of a number as a look-up reads it.
func (m *keysModel) at(i uint32) uint32 {
	p := m.places()
	return p.at(i)
}

func (m *keysModel) check(t testing.TB, all []types.NamespacedName) {
	t.Helper()
	var used, last uint32
	for i := range uint32(neighbours) {
		at, end := m.place(i)
		require.Less(t, at, end)
		want := m.want[i]
		if want.Name == "" {
			require.Zero(t, m.at(i), "not in use")
			require.Equal(t, uint32(1), end-at)
			continue
		}
		used, last = i+1, at
		if at < 1<<16 {
			require.Equal(t, at, m.at(i))
		} else {
			require.Zero(t, m.at(i), "too far")
		}
		require.Equal(t, want, m.key(i))
		for _, k := range all {
			require.Equal(t, k == want, m.has(i, &k))
			short := len(k.Name) < long && len(k.Namespace) < long
			require.Equal(t, k == want && short, m.is(at, &k), "%q %q", k.Namespace, k.Name)
		}
	}
	require.LessOrEqual(t, m.end, m.room)
	require.True(t, m.used == 0 || m.want[m.used-1].Name != "")
	require.Equal(t, []uint32{used, last}, []uint32{m.used, m.last})
	require.Equal(t, int(m.room), m.size())
}

// someKeys are easy to take for each other, or have lengths about which a mistake is likely.
func someKeys(rng *rand.Rand) []types.NamespacedName {
	all := []types.NamespacedName{
		key("", "a"), key("a", "a"), key("a", "b"), key("", "aa"), key("aa", "a"), key("a", "aa"), key("ab", "c"), key("a", "bc"),
		key("", "\x00"), key("\x00", "\x01\x00"), key("\x01", "\x01"), key("", "\x01\x01a"),
	}
	for _, n := range []int{126, 127, 128, 253, 254, 255, 256, 257, 511, 70_000} {
		x := strings.Repeat("x", n)
		all = append(all, key("", x), key("n", x), key(x, "n"), key(x, x[1:]))
	}
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// runKeys makes changes of the keys of eight numbers, as rng chooses them, and compares each
// version, and all strings that point to one, with a model at the end.
func runKeys(t testing.TB, rng *rand.Rand, steps int) {
	t.Helper()
	all := someKeys(rng)
	all = all[:1+rng.IntN(len(all))]
	type text struct{ is, was types.NamespacedName }
	var texts []text
	var versions []keysModel
	m, own := keysModel{}, false
	for range steps {
		i := uint32(rng.IntN(neighbours))
		if m.want[i].Name == "" {
			before := m.keys
			k := all[rng.IntN(len(all))]
			m.keys = before.with(i+neighbours*uint32(rng.IntN(2)), &k, own, rng.IntN(2) == 0)
			require.True(t, own || m.keys != before, "a copy")
			m.want[i], own = k, true
		} else if rng.IntN(3) == 0 {
			m.keys, own = m.without(i+neighbours), true
			m.want[i] = types.NamespacedName{}
		}
		if rng.IntN(3) == 0 { // as if the batch ended
			own = false
			versions = append(versions, m)
		}
		for i, k := range m.want {
			if k.Name != "" && rng.IntN(8) == 0 {
				is := m.key(uint32(i))
				texts = append(texts, text{is, key(strings.Clone(is.Namespace), strings.Clone(is.Name))})
			}
		}
		m.check(t, all)
	}
	for _, v := range versions {
		v.check(t, all)
	}
	for _, x := range texts {
		require.True(t, x.is == x.was, "a string stays as it is")
	}
}

func TestKeysAreThoseOfAModelAndVersionsStay(t *testing.T) {
	t.Parallel()
	rng := seed(t)
	for range 100 {
		runKeys(t, rng, 30)
	}
}

func FuzzKeys(f *testing.F) {
	f.Add([]byte("one after the other"))
	f.Add([]byte{0, 255, 1, 254, 2, 253, 3, 252, 4, 251, 5, 250, 6, 249, 7, 248, 8, 247, 9, 246})
	f.Fuzz(func(t *testing.T, prog []byte) {
		runKeys(t, rand.New(&program{bytes: prog}), min(len(prog), 60))
	})
}

// A length that does not fit into a byte must not be taken for its low byte, whatever follows.
func TestLongKeyIsNotTakenForAShortOne(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ namespace, name, askedNamespace, askedName int }{
		{255, 300, 255, 255}, {255, 300, 511, 255}, {5, 7, 256 + 5, 7}, {5, 7, 5, 256 + 7}, {5, 7, 256 + 5, 256 + 7},
	} {
		first := key(strings.Repeat("n", c.namespace), strings.Repeat("x", c.name))
		rest := key("n", strings.Repeat("y", 700))
		k := (*keys)(nil).with(0, &first, false, false).with(1, &rest, true, false)
		text := string(k.bytes()[keysHeader+2:]) // as if a key began there that is so long
		asked := key(text[:c.askedNamespace], text[c.askedNamespace:][:c.askedName])
		require.False(t, k.is(keysHeader, &asked), "%v", c)
		require.False(t, k.has(0, &asked))
		require.True(t, k.has(0, &first))
	}
}

// Eight keys that a batch adds take one piece of memory, which they fill; few keys have none to spare.
func TestKeysTakeNoMoreMemoryThanTheyNeed(t *testing.T) {
	name := func(i uint32) types.NamespacedName { return key("team-07", fmt.Sprint("web-99-0123456", i)) }
	names := make([]types.NamespacedName, neighbours)
	for i := range names {
		names[i] = name(uint32(i))
	}
	fill := func(own, few bool) (k *keys) {
		for i := range names {
			k = k.with(uint32(i), &names[i], own, few)
		}
		return k
	}
	require.Equal(t, 1.0, testing.AllocsPerRun(100, func() { fill(true, false) }))
	text := 2 + len("team-07web-99-01234567")
	require.Equal(t, 208, fill(true, false).size())
	require.Equal(t, fill(true, false).size(), fill(false, true).size())
	require.Equal(t, 208, int(keysHeader)+neighbours*text, "the next size of the allocator")
	one := (*keys)(nil).with(0, &names[0], false, true)
	require.Equal(t, 48, one.size())
	require.Equal(t, int(keysHeader)+text+neighbours-1, int(one.end))

	huge := key("n", strings.Repeat("x", 100_000))
	require.Less(t, (*keys)(nil).with(0, &huge, false, false).size(), 110_000, "not eight times as much")

	// What is left when one is removed has no room for it.
	require.Less(t, fill(true, false).without(3).size(), 208)
	require.Zero(t, testing.AllocsPerRun(100, func() { _ = fillOf(one) }))
}

// fillOf reads what there is to read.
func fillOf(k *keys) bool {
	key := k.key(0)
	return k.has(0, &key) && k.is(keysHeader, &key) && k.same(k, 0) && k.places()[0] != 0
}

// A key that is stored does not keep the object's own memory, and is not changed with it.
func TestStoreHasCopiesOfNames(t *testing.T) {
	t.Parallel()
	inStores(t, func(t *testing.T, ix *Indexer[*pod]) {
		name := []byte("changes")
		p := newPod("n", unsafe.String(&name[0], len(name)))
		set(t, ix, p)
		copy(name, "another")
		got, ok := ix.Get(key("n", "changes"))
		require.True(t, ok && got == p)
		_, ok = ix.Get(key("n", "another"))
		require.False(t, ok)
	})
}

func TestObjectsWithLongKeysAreFound(t *testing.T) {
	t.Parallel()
	inStores(t, func(t *testing.T, ix *Indexer[*pod]) {
		var versions []versioned
		want := map[types.NamespacedName]*pod{}
		for p := range ix.All() {
			want[object.KeyOf(p)] = p
		}
		keys := someKeys(seed(t))
		for round := range 2 {
			for i, k := range keys {
				p := newPod(k.Namespace, k.Name)
				set(t, ix, p)
				want[k] = p
				if (i+round)%7 == 0 {
					b := ix.Batch()
					b.Delete(keys[i/2])
					b.Commit()
					delete(want, keys[i/2])
				}
			}
			now := maps.Clone(want)
			versions = append(versions, versioned{ix.Snapshot(), now})
		}
		for _, v := range versions {
			require.Equal(t, len(v.want), v.Len())
			for _, k := range keys {
				got, ok := v.Get(k)
				p, had := v.want[k]
				require.True(t, ok == had && got == p, "%d, %d bytes", len(k.Namespace), len(k.Name))
			}
		}
		checkDiff(t, versions[0], versions[1])
	})
}

func TestKeyThatNoServerHasIsRefused(t *testing.T) {
	t.Parallel()
	ix := newIndexer(t)
	b := ix.Batch()
	defer b.Discard()
	long := strings.Repeat("x", maxKey)
	_, _, err := b.Set(newPod("n", long))
	require.ErrorIs(t, err, ErrInvalidObject)
	require.ErrorContains(t, err, "longer than 16777216 bytes (16777217 bytes)")
	res, err := b.Replace([]*pod{newPod("n", long), newPod("n", "p"), newPod("", long)})
	require.ErrorIs(t, err, ErrInvalidObject)
	require.ErrorContains(t, err, "(number 0 of the list)")
	require.Equal(t, ReplaceResult{Added: 2}, res)
	got, ok := b.Get(key("", long))
	require.True(t, ok)
	require.Equal(t, long, got.Name)
}
