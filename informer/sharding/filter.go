package sharding

import (
	"log/slog"
	"math"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/informer"
)

// filter selects the objects of the ranges of one informer, and finds out whether
// the server does so too. The selector is always sent, and what arrives is always
// compared with it, so nothing depends on the answer but what is reported.
type filter struct {
	key HashKey
	log *slog.Logger

	outside atomic.Uint64                       // objects that were received and dropped
	by      atomic.Pointer[informer.FilteredBy] // nil: not known yet
	mu      sync.Mutex                          // guards all below, and changes of by
	inside  map[uint64]struct{}                 // hashes of objects received since the last one outside
}

// newFilter returns a filter for ranges of hashes of key.
func newFilter(key HashKey) *filter {
	f := &filter{key: key}
	if key == HashOwner {
		by := informer.FilteredByClient
		f.by.Store(&by)
	}
	return f
}

// filteredBy returns what is known, or "".
func (f *filter) filteredBy() informer.FilteredBy {
	if by := f.by.Load(); by != nil {
		return *by
	}
	return ""
}

// shard returns what a request that begins now is to read.
func (f *filter) shard(set hashSet) shard {
	fraction := set.fraction()
	return shard{
		selector: set.selector(f.key),
		moves:    f.key == HashOwner,
		holds: func(obj metav1.Object) bool {
			hash := f.key.Of(obj)
			if !set.contains(hash) {
				f.outside.Add(1)
				f.noteOutside()
				return false
			}
			f.noteInside(hash, fraction)
			return true
		},
		listed: func(stated bool) {
			if stated {
				f.become(informer.FilteredByServer)
			}
		},
	}
}

// noteOutside notes that the server has sent an object of another range.
func (f *filter) noteOutside() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.inside)
	f.becomeLocked(informer.FilteredByClient)
}

// evidenceBits is how sure the filter is that the server filters, if the server does not
// say so: a server that does not would send nothing but objects of these ranges for so
// long only once in 2^30 times.
const evidenceBits = 30

// maxEvidence bounds the number of hashes that are kept to be sure.
const maxEvidence = 4096

// noteInside notes an object of the ranges, which are a fraction of all hashes.
func (f *filter) noteInside(hash uint64, fraction float64) {
	// Once the server is known to filter, an object costs this look.
	if f.key == HashOwner || f.filteredBy() == informer.FilteredByServer {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.inside == nil {
		f.inside = map[uint64]struct{}{}
	}
	// Different objects only: one that changes often proves nothing.
	if len(f.inside) < maxEvidence {
		f.inside[hash] = struct{}{}
	}
	if float64(len(f.inside))*-math.Log2(fraction) >= evidenceBits {
		f.becomeLocked(informer.FilteredByServer)
	}
}

// become notes who filters.
func (f *filter) become(by informer.FilteredBy) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.becomeLocked(by)
}

// becomeLocked notes who filters, and says so in one line if that is new.
func (f *filter) becomeLocked(by informer.FilteredBy) {
	if f.filteredBy() == by {
		return
	}
	f.by.Store(&by)
	f.inside = nil
	if by == informer.FilteredByClient {
		f.log.Warn("the server ignores the shard selector: it sends all objects, and this client drops those of other ranges; is its feature gate ShardedListAndWatch on?")
		return
	}
	f.log.Info("the server filters by the shard selector")
}
