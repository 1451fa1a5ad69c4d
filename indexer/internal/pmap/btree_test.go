package pmap

import "slices"

// btree is the alternative that the package documentation compares with: a
// copy-on-write B+tree in the order of the hashes, with the same batches. Nodes
// are split when they are full and dropped when they are empty.
type btree struct {
	root *bnode
	n    int
	hash func(int) uint64
}

const btreeMax = 32

type bnode struct {
	gen    uint64
	hashes []uint64 // of vals, or the lowest below each of kids
	vals   []*item
	kids   []*bnode
}

func (n *bnode) own(gen uint64) *bnode {
	if n.gen == gen {
		return n
	}
	return &bnode{gen, slices.Clone(n.hashes), slices.Clone(n.vals), slices.Clone(n.kids)}
}

// search returns where key is or belongs among the values of a leaf.
func (n *bnode) search(h uint64, key int) (int, bool) {
	i, _ := slices.BinarySearch(n.hashes, h)
	for ; i < len(n.vals) && n.hashes[i] == h; i++ {
		if n.vals[i].key == key {
			return i, true
		}
	}
	return i, false
}

// child returns the first child that can hold h; equal hashes may go on in the next.
func (n *bnode) child(h uint64) int {
	i, _ := slices.BinarySearch(n.hashes, h)
	if i > 0 {
		i--
	}
	return i
}

func (t *btree) find(key int) (*item, bool) {
	if t.root == nil {
		return nil, false
	}
	return t.root.find(t.hash(key), key)
}

func (n *bnode) find(h uint64, key int) (*item, bool) {
	if n.kids == nil {
		if i, ok := n.search(h, key); ok {
			return n.vals[i], true
		}
		return nil, false
	}
	for i := n.child(h); i < len(n.kids) && (n.hashes[i] <= h || i == 0); i++ {
		if v, ok := n.kids[i].find(h, key); ok {
			return v, true
		}
	}
	return nil, false
}

func (t *btree) put(gen uint64, v *item) (old *item, replaced bool) {
	h := t.hash(v.key)
	if old, replaced = t.find(v.key); replaced {
		t.root = t.root.own(gen)
		t.root.replace(gen, h, v)
		return old, true
	}
	t.n++
	if t.root == nil {
		t.root = &bnode{gen: gen}
	}
	t.root = t.root.own(gen)
	if right := t.root.insert(gen, h, v); right != nil {
		t.root = &bnode{gen, []uint64{t.root.hashes[0], right.hashes[0]}, nil, []*bnode{t.root, right}}
	}
	return nil, false
}

func (n *bnode) replace(gen, h uint64, v *item) {
	for n.kids != nil {
		i := n.child(h)
		for {
			if _, ok := n.kids[i].find(h, v.key); ok {
				break
			}
			i++
		}
		n.kids[i] = n.kids[i].own(gen)
		n = n.kids[i]
	}
	i, _ := n.search(h, v.key)
	n.vals[i] = v
}

// insert adds v, which is not there yet, and returns the right half if n had to be split.
func (n *bnode) insert(gen, h uint64, v *item) *bnode {
	if n.kids == nil {
		i, _ := n.search(h, v.key)
		n.hashes = slices.Insert(n.hashes, i, h)
		n.vals = slices.Insert(n.vals, i, v)
	} else {
		i := n.child(h)
		n.kids[i] = n.kids[i].own(gen)
		right := n.kids[i].insert(gen, h, v)
		n.hashes[i] = n.kids[i].hashes[0]
		if right != nil {
			n.kids = slices.Insert(n.kids, i+1, right)
			n.hashes = slices.Insert(n.hashes, i+1, right.hashes[0])
		}
	}
	if len(n.hashes) <= btreeMax {
		return nil
	}
	half := len(n.hashes) / 2
	right := &bnode{gen: gen, hashes: slices.Clone(n.hashes[half:])}
	n.hashes = n.hashes[:half]
	if n.kids == nil {
		right.vals = slices.Clone(n.vals[half:])
		clear(n.vals[half:])
		n.vals = n.vals[:half]
	} else {
		right.kids = slices.Clone(n.kids[half:])
		clear(n.kids[half:])
		n.kids = n.kids[:half]
	}
	return right
}

func (t *btree) remove(gen uint64, key int) (old *item, ok bool) {
	if old, ok = t.find(key); !ok {
		return nil, false
	}
	t.n--
	t.root = t.root.own(gen)
	if t.root.remove(gen, t.hash(key), key); len(t.root.hashes) == 0 {
		t.root = nil
	}
	for t.root != nil && len(t.root.kids) == 1 {
		t.root = t.root.kids[0]
	}
	return old, true
}

func (n *bnode) remove(gen, h uint64, key int) {
	if n.kids == nil {
		i, _ := n.search(h, key)
		n.hashes = slices.Delete(n.hashes, i, i+1)
		n.vals = slices.Delete(n.vals, i, i+1)
		return
	}
	i := n.child(h)
	for {
		if _, ok := n.kids[i].find(h, key); ok {
			break
		}
		i++
	}
	n.kids[i] = n.kids[i].own(gen)
	n.kids[i].remove(gen, h, key)
	if len(n.kids[i].hashes) == 0 {
		n.kids = slices.Delete(n.kids, i, i+1)
		n.hashes = slices.Delete(n.hashes, i, i+1)
	} else {
		n.hashes[i] = n.kids[i].hashes[0]
	}
}

func (t *btree) each(yield func(*item) bool) bool {
	return t.root == nil || t.root.each(yield)
}

func (n *bnode) each(yield func(*item) bool) bool {
	for _, v := range n.vals {
		if !yield(v) {
			return false
		}
	}
	for _, k := range n.kids {
		if !k.each(yield) {
			return false
		}
	}
	return true
}
