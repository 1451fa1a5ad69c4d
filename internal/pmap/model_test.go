package pmap

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// item is a value with a key, a hash chosen by the test, and a version.
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

// machine drives a trie and a Go map through the same operations.
type machine struct {
	t    testing.TB
	hash func(int) uint64
	gen  uint64
	trie Trie[*item]
	want map[int]*item
}

func (m *machine) hashOf(i *item) uint64 { return m.hash(i.key) }

func (m *machine) put(k, ver int) {
	v := &item{k, ver}
	old, ok := m.trie.Put(m.gen, m.hash(k), v, func(i *item) bool { return i.key == k }, m.hashOf)
	w, had := m.want[k]
	require.Equal(m.t, had, ok)
	require.Same(m.t, w, old)
	m.want[k] = v
}

func (m *machine) remove(k int) {
	old, ok := m.trie.Remove(m.gen, m.hash(k), func(i *item) bool { return i.key == k })
	w, had := m.want[k]
	require.Equal(m.t, had, ok)
	require.Same(m.t, w, old)
	delete(m.want, k)
}

func (m *machine) compare() Compare[*item] {
	return Compare[*item]{
		Hash:    m.hashOf,
		SameKey: func(a, b *item) bool { return a.key == b.key },
		Equal:   func(a, b *item) bool { return a == b },
	}
}

// check compares a whole version with the model.
func check(t testing.TB, hash func(int) uint64, trie Trie[*item], want map[int]*item) {
	require.Equal(t, len(want), trie.Len())
	n := 0
	trie.Each(func(i *item) bool {
		if want[i.key] != i {
			t.Fatalf("iteration yields %v, want %v", i, want[i.key])
		}
		n++
		return true
	})
	require.Equal(t, len(want), n, "each value once")
	for k, w := range want {
		v, ok := trie.Find(hash(k), func(i *item) bool { return i.key == k })
		if !ok || v != w {
			t.Fatalf("key %d: got %v, want %v", k, v, w)
		}
	}
}

// diffs applies a diff to a copy of the old model and expects the new one.
func checkDiff(t testing.TB, c Compare[*item], a, b Trie[*item], old, want map[int]*item) {
	got := make(map[int]*item, len(old))
	for k, v := range old {
		got[k] = v
	}
	seen := map[int]bool{}
	Diff(a, b, c, func(d Delta[*item]) bool {
		k := 0
		if d.HasOld {
			k = d.Old.key
			require.Same(t, old[k], d.Old)
			delete(got, k)
		} else {
			k = d.New.key
			require.NotContains(t, old, k)
		}
		if d.HasNew {
			require.Equal(t, k, d.New.key)
			require.NotSame(t, d.Old, d.New)
			got[k] = d.New
		}
		require.False(t, seen[k], "key %d yielded twice", k)
		seen[k] = true
		return true
	})
	require.Equal(t, want, got)
}

type version struct {
	trie Trie[*item]
	want map[int]*item
}

func TestTrieBehavesLikeAGoMapAndOldVersionsStay(t *testing.T) {
	t.Parallel()
	ops := 60_000
	if testing.Short() {
		ops = 5_000
	}
	for name, hash := range hashes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed(t), 1))
			keys := 2_000
			if name == "constant" || name == "lowbit" || name == "16values" {
				keys = 60
			}
			m := &machine{t: t, hash: hash, gen: 1, want: map[int]*item{}}
			var kept []version
			for i := range ops {
				// Phases that grow and shrink the trie, so that every size is met.
				grow := i/(ops/6)%2 == 0
				k := r.IntN(keys)
				if (r.IntN(4) != 0) == grow {
					m.put(k, i)
				} else {
					m.remove(k)
				}
				if r.IntN(20) == 0 { // end of a batch
					m.gen++
				}
				if r.IntN(ops/40) == 0 {
					cp := make(map[int]*item, len(m.want))
					for k, v := range m.want {
						cp[k] = v
					}
					kept = append(kept, version{m.trie, cp})
					m.gen++
				}
			}
			kept = append(kept, version{m.trie, m.want})
			for i, v := range kept {
				check(t, hash, v.trie, v.want)
				o := kept[r.IntN(len(kept))]
				checkDiff(t, m.compare(), v.trie, o.trie, v.want, o.want)
				if i > 0 {
					checkDiff(t, m.compare(), kept[i-1].trie, v.trie, kept[i-1].want, v.want)
				}
			}
			for k := range m.want {
				m.remove(k)
			}
			require.Zero(t, m.trie)
		})
	}
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
