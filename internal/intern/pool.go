package intern

import (
	"hash/maphash"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
	"weak"
)

// Pool knows the parts that interned objects consist of, for any number of
// [Interner]s. It holds them by weak pointers. All methods may be called from any
// goroutine.
//
// The pool is shared by several interners so that equal parts of different collections,
// such as the labels of a Deployment and its pods, are one.
type Pool struct {
	// A random seed per pool: otherwise objects could be written whose parts all have
	// one hash, and each would displace the others.
	seed   maphash.Seed
	shards [shardCount]shard
	// age is the number of sweeps that have begun.
	age atomic.Uint32
	// once holds the entries of hashes that were seen once, see seen.
	once [onceCount]atomic.Pointer[entry]

	mu sync.Mutex
	// types numbers the types of parts. A number is smaller than a reflect.Type in each
	// entry, and is part of the hash, so that equal memory of different types is not
	// taken for a candidate.
	types map[typeKey]uint32

	interners sync.Map // of *Interner, by reflect.Type

	// Added to once per object, not per part, to keep goroutines off a shared cache
	// line.
	found, missed atomic.Uint64
	// texts is the memory of what the workers of all interners keep; see Decoding.
	texts atomic.Int64
}

// shardCount is the number of locks, a power of two. Decoding runs on all cores, and looks
// up each part of each object, so one lock for all would be contended.
const shardCount = 64

// onceCount is for how many types there is an entry in once. A pool of pods has about 100.
const onceCount = 128

// typeKey is a type of parts. Memory of one Go type can be used in two ways: a string in
// a field, and a string in an interface, which is a part with a header of its own.
type typeKey struct {
	kind kind
	typ  reflect.Type
}

// shard holds the parts whose hashes end alike.
type shard struct {
	mu sync.Mutex
	// One entry per hash. Of two parts with equal hashes only one is known: the other is
	// not shared, which costs memory and is never wrong.
	entries map[uint64]*entry
	peak    int // of entries since the map was made
	// Keeps the locks of neighbouring shards on different cache lines.
	_ [40]byte
}

// entry is what is known of a hash: a part, or only that one was seen. It does not
// change.
//
// Because it is immutable, it may be read without the lock of its shard, as the sites do
// that keep the entries found last. To change what is known of a hash, the entry is
// replaced.
type entry struct {
	part weak.Pointer[byte]
	typ  uint32
	// n is the length of a string or slice or, of an entry without a part, the
	// age of the pool when it was seen.
	n uint32
}

// NewPool returns an empty pool.
func NewPool() *Pool {
	p := &Pool{seed: maphash.MakeSeed(), types: map[typeKey]uint32{}}
	for i := range p.shards {
		p.shards[i].entries = map[uint64]*entry{}
	}
	// Weak pointers become nil without a notice; sweeping is what frees the entries
	// themselves.
	p.afterGC()
	return p
}

// typeID returns the number of a type of parts, and where hashes of such parts begin.
// It is called while plans are made, so the lock is not contended.
func (p *Pool) typeID(k kind, t reflect.Type) (id uint32, salt uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := typeKey{k, t}
	id, ok := p.types[key]
	if !ok {
		id = uint32(len(p.types)) + 1
		p.types[key] = id
	}
	return id, maphash.Comparable(p.seed, id)
}

// shard selects by the low bits; the map of the shard hashes the whole number again.
func (p *Pool) shard(h uint64) *shard { return &p.shards[h%shardCount] }

// find returns what is known of a hash, or nil. It notes that a part was seen.
//
// It takes one lock, of one of shardCount shards, and allocates only when their map grows.
func (p *Pool) find(h uint64, typ uint32) *entry {
	s := p.shard(h)
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[h]
	if e == nil {
		// Seen once: no weak pointer yet, since most parts that are seen once are never
		// seen again.
		s.set(h, p.seen(typ))
	} else if e.typ != typ {
		return nil
	}
	return e
}

// seen returns the entry of a hash that was seen once. All such hashes of a type have the
// same one between two sweeps: all that it says is when that was. Most parts that are looked
// up are seen once, so an entry for each would be most of what a pool allocates.
func (p *Pool) seen(typ uint32) *entry {
	age := p.age.Load()
	slot := &p.once[typ%onceCount]
	if e := slot.Load(); e != nil && e.typ == typ && e.n == age {
		return e
	}
	e := &entry{typ: typ, n: age}
	slot.Store(e)
	return e
}

// get returns the part of an entry, if it is of a type and still there.
func (e *entry) get(typ uint32) unsafe.Pointer {
	if e == nil || e.typ != typ {
		return nil
	}
	return unsafe.Pointer(e.part.Value())
}

// add makes a part the one for its hash, and returns its entry. If there is one already
// it returns nil.
func (p *Pool) add(h uint64, typ uint32, part unsafe.Pointer, n int) *entry {
	// Made outside the lock: weak.Make enters the runtime, and may take a lock there.
	e := &entry{part: weak.Make((*byte)(part)), typ: typ, n: uint32(n)}
	s := p.shard(h)
	s.mu.Lock()
	defer s.mu.Unlock()
	// Another goroutine may have been first with an equal part. The older one stays,
	// because objects may refer to it already. An entry of another type is replaced as
	// well once its part is gone: a hash has one entry.
	if old := s.entries[h]; old != nil && old.part.Value() != nil {
		return nil
	}
	s.set(h, e)
	return e
}

// set stores an entry. s.mu is held.
func (s *shard) set(h uint64, e *entry) {
	s.entries[h] = e
	s.peak = max(s.peak, len(s.entries))
}

// Sweep removes the entries of parts that are gone, and of those that were not
// seen again since the sweep before the last one. It is called after each garbage
// collection.
func (p *Pool) Sweep() {
	// Before any shard is swept: what is seen during the sweep counts as seen after it.
	age := p.age.Add(1)
	for i := range p.shards {
		p.shards[i].sweep(age)
	}
}

// sweep is Sweep for one shard. The others stay usable meanwhile.
func (s *shard) sweep(age uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	none := weak.Pointer[byte]{}
	// A hash that was seen once gets at least one full interval between two sweeps to be
	// seen again. Without this bound the hashes of all parts ever seen would accumulate.
	for h, e := range s.entries {
		if e.part == none && age-e.n > 1 || e.part != none && e.part.Value() == nil {
			delete(s.entries, h)
		}
	}
	if n := len(s.entries); s.peak > 8 && n < s.peak/4 { // maps do not shrink
		// After a large collection was dropped, the map would keep the memory of its
		// peak.
		smaller := make(map[uint64]*entry, n)
		for h, e := range s.entries {
			smaller[h] = e
		}
		s.entries, s.peak = smaller, n
	}
}

// afterGC sweeps after the next garbage collection, and so on while the pool is
// in use.
func (p *Pool) afterGC() {
	// The runtime packs values of less than 16 bytes without pointers into one block,
	// which lives as long as any of them.
	type sentinel struct{ _ [16]byte } // not part of a block of tiny values
	// Weak, or the cleanup itself would keep the pool alive, and the sweeps would go on
	// for ever.
	w := weak.Make(p)
	// The sentinel is unreachable at once, so its cleanup runs after the next
	// collection. Each cleanup runs once; it makes the next sentinel.
	runtime.AddCleanup(&sentinel{}, func(w weak.Pointer[Pool]) {
		if p := w.Value(); p != nil {
			p.Sweep()
			p.afterGC()
		}
	}, w)
}

// Stats are figures of a [Pool].
type Stats struct {
	// Parts is the number of parts in the pool, Seen that of hashes of which one
	// part was seen recently.
	Parts, Seen int
	// Bytes is the memory of the pool itself, without the parts.
	Bytes int
	// Found and Missed are how many parts were looked up and replaced, and looked
	// up and kept, since the pool was made.
	Found, Missed uint64
}

// Stats returns present figures, in time proportional to the number of parts.
func (p *Pool) Stats() Stats {
	st := Stats{Found: p.found.Load(), Missed: p.missed.Load(), Bytes: int(unsafe.Sizeof(*p)) + int(p.texts.Load())}
	none := weak.Pointer[byte]{}
	for i := range p.shards {
		s := &p.shards[i]
		s.mu.Lock()
		st.Bytes += mapBytes(s.peak, 16)
		for _, e := range s.entries {
			if e.part == none {
				st.Seen++
			} else {
				st.Parts++
			}
		}
		s.mu.Unlock()
	}
	st.Bytes += st.Parts * (weakBytes + int(unsafe.Sizeof(entry{})))
	return st
}

// weakBytes is what the runtime spends on a weak pointer: its target's address
// on the heap, and a record beside it.
const weakBytes = 16 + 32
