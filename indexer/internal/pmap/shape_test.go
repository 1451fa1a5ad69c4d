package pmap

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// checkShape expects of a trie what the model cannot see: each value is where
// its hash leads, free places are empty, and nothing is divided without need.
func checkShape(t testing.TB, m *trieMap) {
	s := shape{t: t, hash: m.hashOf}
	switch {
	case m.root == nil:
	case m.size&1 != 0:
		s.leaf((*leaf[*item])(m.root), 0, 0)
	default:
		s.inner((*inner)(m.root), 0, 0)
	}
	require.Equal(t, m.Len(), s.values)
}

type shape struct {
	t      testing.TB
	hash   func(*item) uint64
	values int
}

// inner looks at the node whose slots divide the hash from bit base on; above
// are the bits before.
func (s *shape) inner(n *inner, base uint, above uint64) {
	require.Nil(s.t, wholeLeaf[*item](n, base), "a level too many")
	for i := uint64(0); i < fan; {
		bits := above<<fanBits | i
		if !n.isLeaf(i) {
			if base+fanBits > topShift {
				s.chain((*chain[*item])(n.kids[i]), bits)
			} else {
				s.inner((*inner)(n.kids[i]), base+fanBits, bits)
			}
			i++
			continue
		}
		l := (*leaf[*item])(n.kids[i])
		span := spanAt[*item](n, i, base)
		require.Zero(s.t, i%span)
		for j := i; j < i+span; j++ {
			require.True(s.t, n.isLeaf(j) && n.kids[j] == unsafe.Pointer(l), "a leaf is in all of its slots")
		}
		if sib := i ^ span; sib > i && n.isLeaf(sib) {
			if r := (*leaf[*item])(n.kids[sib]); r.prefix() == l.prefix() {
				require.Greater(s.t, l.len()+r.len(), mergeAt, "sparse siblings")
			}
		}
		s.leaf(l, l.prefix(), bits>>(base+fanBits-l.prefix()))
		i += span
	}
}

func (s *shape) leaf(l *leaf[*item], prefix uint, bits uint64) {
	require.Equal(s.t, prefix, l.prefix())
	for i, v := range l.vals {
		if i >= l.len() {
			require.Nil(s.t, v, "a free place holds on to a value")
			continue
		}
		require.Equal(s.t, tagOf(s.hash(v)), l.tag(i))
		require.Equal(s.t, bits, s.hash(v)>>1>>(63-prefix))
		s.values++
	}
}

func (s *shape) chain(c *chain[*item], bits uint64) {
	require.Greater(s.t, len(c.vals), mergeAt, "a short chain")
	for i, v := range c.vals[:cap(c.vals)] {
		if i >= len(c.vals) {
			require.Nil(s.t, v, "a free place holds on to a value")
			continue
		}
		require.Equal(s.t, bits, s.hash(v)>>1)
		s.values++
	}
}

// The random histories rarely look at a trie of few values. This is every size
// between none and 40, on the way up and on the way down.
func TestShapeIsRightAtEverySize(t *testing.T) {
	t.Parallel()
	const most = 40
	for name, hash := range hashes {
		for _, perBatch := range []int{1, 3, most} {
			t.Run(fmt.Sprintf("%s, %d to a batch", name, perBatch), func(t *testing.T) {
				t.Parallel()
				m := &machine{t: t, gen: 1, m: &trieMap{hash: hash}, want: map[int]*item{}}
				var all []version
				for step := range 2 * most {
					if step%perBatch == 0 {
						all = append(all, m.version())
					}
					if step < most {
						m.put(step, 0)
					} else {
						m.remove((step - most) * 7 % most)
					}
					checkShape(t, m.m.(*trieMap))
					for k := range most {
						m.edit(k, step)
					}
				}
				all = append(all, m.version())
				require.Equal(t, Trie[*item]{}, m.m.(*trieMap).Trie, "an empty trie is the zero value")
				for i, v := range all {
					v.check(t)
					checkDiff(t, v, all[(i+1)%len(all)])
					checkDiff(t, v, all[len(all)-1-i])
				}
			})
		}
	}
}

func TestReplacingAValueDividesNothing(t *testing.T) {
	t.Parallel()
	for _, size := range []int{leafCap, 40} { // a leaf alone, and leaves below a node
		m := filled(size)
		nodes := countNodes(m.Trie)
		for k := range size {
			m.put(2, &item{k, 1})
			require.Equal(t, nodes, countNodes(m.Trie), "%d values, after replacing %d", size, k)
		}
	}
}
