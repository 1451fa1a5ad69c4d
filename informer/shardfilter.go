package informer

import (
	"log/slog"
	"math"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/reflector"
)

// FilteredBy says what keeps the objects of other ranges out of the cache of an informer
// of [NewRanged].
type FilteredBy string

const (
	// FilteredByServer means: the server honours the shard selector.
	FilteredByServer FilteredBy = "server"
	// FilteredByClient means: the server ignores the selector, or cannot select by the
	// [HashKey]. It sends all objects, and the informer drops those of other ranges.
	FilteredByClient FilteredBy = "client"
)

// shardFilter selects the objects of the ranges of one informer, and finds out whether
// the server does so too. The selector is always sent, and what arrives is always
// compared with it, so nothing depends on the answer but what is reported.
type shardFilter struct {
	key HashKey
	log *slog.Logger

	outside atomic.Uint64              // objects that were received and dropped
	by      atomic.Pointer[FilteredBy] // nil: not known yet
	mu      sync.Mutex                 // guards all below, and changes of by
	inside  map[uint64]struct{}        // hashes of objects received since the last one outside
}

// newShardFilter returns a filter for ranges of hashes of key.
func newShardFilter(key HashKey, log *slog.Logger) *shardFilter {
	f := &shardFilter{key: key, log: log}
	if key == HashOwner {
		by := FilteredByClient
		f.by.Store(&by)
	}
	return f
}

// filteredBy returns what is known, or "".
func (f *shardFilter) filteredBy() FilteredBy {
	if by := f.by.Load(); by != nil {
		return *by
	}
	return ""
}

// shard returns what a request that begins now is to read.
func (f *shardFilter) shard(set hashSet) reflector.Shard {
	fraction := set.fraction()
	return reflector.Shard{
		Selector: set.selector(f.key),
		Moves:    f.key == HashOwner,
		Holds: func(obj metav1.Object) bool {
			hash := f.key.Of(obj)
			if !set.contains(hash) {
				f.outside.Add(1)
				f.noteOutside()
				return false
			}
			f.noteInside(hash, fraction)
			return true
		},
		Listed: func(stated bool) {
			if stated {
				f.become(FilteredByServer)
			}
		},
	}
}

// noteOutside notes that the server has sent an object of another range.
func (f *shardFilter) noteOutside() {
	if f.filteredBy() == FilteredByClient && f.key == HashOwner {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.inside)
	f.becomeLocked(FilteredByClient)
}

// evidenceBits is how sure the filter is that the server filters, if the server does not
// say so: a server that does not would send nothing but objects of these ranges for so
// long only once in 2^30 times.
const evidenceBits = 30

// maxEvidence bounds the number of hashes that are kept to be sure.
const maxEvidence = 4096

// noteInside notes an object of the ranges, which are a fraction of all hashes.
func (f *shardFilter) noteInside(hash uint64, fraction float64) {
	// Once the server is known to filter, an object costs this look.
	if f.key == HashOwner || f.filteredBy() == FilteredByServer {
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
		f.becomeLocked(FilteredByServer)
	}
}

// become notes who filters.
func (f *shardFilter) become(by FilteredBy) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.becomeLocked(by)
}

// becomeLocked notes who filters, and says so in one line if that is new.
func (f *shardFilter) becomeLocked(by FilteredBy) {
	if f.filteredBy() == by {
		return
	}
	f.by.Store(&by)
	f.inside = nil
	if by == FilteredByClient {
		f.log.Warn("the server ignores the shard selector: it sends all objects, and this client drops those of other ranges; is its feature gate ShardedListAndWatch on?")
		return
	}
	f.log.Info("the server filters by the shard selector")
}
