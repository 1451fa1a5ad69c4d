package history

import (
	"cmp"
	"hash/maphash"
	"slices"
	"sync"
	"time"
)

// DefaultEntries is how many entries a recorder keeps if its options do not say.
const DefaultEntries = 1 << 16

// Options configures a [Recorder]. The zero value is ready to use.
type Options struct {
	// Entries is how many entries are kept; 0 or less is [DefaultEntries]. It is rounded
	// up to a multiple of 16. A reconcile that succeeds takes about five.
	Entries int
}

// Recorder keeps the last entries. Make one with [New]; it needs no closing. All methods
// may be called concurrently.
//
// It is divided by key into 16 rings, each with a lock of its own, so that many cores
// can note at once. All entries of a key are in one ring: to find them, one ring is
// searched, and a key that fails without end overwrites only what is in its ring.
type Recorder struct {
	start time.Time
	seed  maphash.Seed
	rings [rings]ring
	errs  errs

	mu     sync.Mutex
	queues map[string]*queueLog // by name; see failing.go
}

const rings = 16

// ring has the entries of some keys.
type ring struct {
	mu      sync.Mutex
	entries []slot // all of them, from the beginning
	noted   uint64 // how many were ever noted; the next is at noted modulo len(entries)
	_       [24]byte
}

// slot is an entry in a ring.
type slot struct {
	record Record // of a failure, Old is the number of its error
	at     int64  // since the start of the recorder
}

// New returns an empty recorder. Its memory is reserved at once.
func New(opts Options) *Recorder {
	entries := opts.Entries
	if entries <= 0 {
		entries = DefaultEntries
	}
	each := (entries + rings - 1) / rings
	r := &Recorder{start: time.Now(), seed: maphash.MakeSeed(), queues: map[string]*queueLog{}}
	all := make([]slot, each*rings)
	for i := range r.rings {
		r.rings[i].entries = all[i*each : (i+1)*each : (i+1)*each]
	}
	return r
}

// ring returns the ring of a parsed key.
func (r *Recorder) ring(key Key) *ring {
	h := maphash.String(r.seed, key.Name)
	if key.Namespace != "" {
		h ^= maphash.String(r.seed, key.Namespace) >> 8
	}
	return &r.rings[h%rings]
}

// Note notes what happened at a moment. The record is copied.
func (r *Recorder) Note(at time.Time, record *Record) {
	key := record.Key.parsed()
	s := r.ring(key)
	s.mu.Lock()
	e := &s.entries[s.noted%uint64(len(s.entries))]
	e.record, e.at = *record, int64(at.Sub(r.start))
	e.record.Key = key
	s.noted++
	s.mu.Unlock()
}

// NoteError is [Recorder.Note] of a processing that failed with err: Failed or Dropped.
func (r *Recorder) NoteError(at time.Time, record *Record, err error) {
	// Versions belong to changes of objects, so here their place is free.
	record.Old = r.errs.put(err)
	r.Note(at, record)
}

// failed reports whether records of this kind have an error.
func (w What) failed() bool { return w == Failed || w == Dropped }

// History is what a recorder has of a key.
type History struct {
	// Entries are in the order of their times.
	Entries []Entry
	// Overwritten is whether entries of the ring were overwritten, so that older ones of
	// the key may be missing: those before Since, the time of the oldest entry of the
	// ring that is left. Without that, Since is the start of the recorder.
	Overwritten bool
	Since       time.Time
	// Kept is how many entries the recorder keeps, of all keys.
	Kept int
}

// Of returns what was noted for the key with that text; see [ParseKey]. It takes a time
// in proportion to the entries of a ring, about a tenth of a millisecond by default,
// during which nothing is noted for the keys of that ring.
func (r *Recorder) Of(text string) History {
	key := ParseKey(text)
	s := r.ring(key)
	n := uint64(len(s.entries))
	h := History{Since: r.start, Kept: len(s.entries) * rings}
	var found []slot
	s.mu.Lock()
	first := s.noted - min(s.noted, n)
	if first > 0 {
		h.Overwritten = true
		h.Since = r.start.Add(time.Duration(s.entries[first%n].at))
	}
	for i := first; i < s.noted; i++ {
		if e := &s.entries[i%n]; e.record.Key == key {
			found = append(found, *e)
		}
	}
	s.mu.Unlock()
	// In the order of their times; those of one moment in the order in which they were
	// noted. A time may be read a little before it is noted.
	slices.SortStableFunc(found, func(a, b slot) int { return cmp.Compare(a.at, b.at) })
	for i := range found {
		e := Entry{Record: found[i].record, Time: r.start.Add(time.Duration(found[i].at))}
		if e.What.failed() {
			e.Err, e.ErrLost = r.errs.get(e.Old)
			e.Old = 0
		}
		h.Entries = append(h.Entries, e)
	}
	return h
}

// maxErrs is how many errors are kept. An error may refer to much memory.
const maxErrs = 256

// errs are the last errors, beside the entries: failures are rare, and an entry without
// one is smaller by the size of an interface.
type errs struct {
	mu    sync.Mutex
	last  [maxErrs]error
	noted uint64
}

// put returns the number of err, from 1.
func (e *errs) put(err error) uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.noted++
	e.last[e.noted%maxErrs] = err
	return e.noted
}

// get returns the error with that number, or that it is not kept any more.
func (e *errs) get(number uint64) (_ error, lost bool) {
	if number == 0 {
		return nil, false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.noted-number >= maxErrs {
		return nil, true
	}
	return e.last[number%maxErrs], false
}
