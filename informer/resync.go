package informer

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// maxResyncSlices is the number of bits in resyncer.due.
const maxResyncSlices = 64

// resyncer says when which objects are due to be delivered again. A resync is not
// a relist: it asks the server for nothing, and repeats what the cache has, for
// handlers that depend on more than the object.
//
// The key space is cut into slices, and one slice is due at each step, so that a
// queue behind the handler is not flooded once per period. Each slice, and so
// each object, is due exactly once per period, counted from the handler's sync:
// the times do not drift. A timer is all that a waiting resync costs.
type resyncer struct {
	period time.Duration
	slices int
	seed   maphash.Seed
	due    atomic.Uint64 // slices, as bits
	wake   func()        // called without mu when slices are due

	mu    sync.Mutex // guards all below
	timer *time.Timer
	start time.Time
	steps int // that were taken since start
	ended bool
}

// newResyncer returns a resyncer whose clock does not run yet.
//
// A step is a second at least, so a short period has few slices, and one of a second has one.
func newResyncer(period time.Duration, wake func()) *resyncer {
	slices := max(1, min(maxResyncSlices, int(period/minResyncStep)))
	return &resyncer{period: period, slices: slices, seed: maphash.MakeSeed(), wake: wake}
}

// slice returns the slice that a key belongs to.
func (r *resyncer) slice(key types.NamespacedName) int {
	if r.slices == 1 {
		return 0
	}
	// By hash: the slices are about equally large, whatever the names are.
	return int(maphash.Comparable(r.seed, key) % uint64(r.slices))
}

// begin starts the clock, unless end was called before.
func (r *resyncer) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	// The handler may have been removed while it was being called with the first objects.
	if r.ended {
		return
	}
	r.start = time.Now()
	r.timer = time.AfterFunc(r.after(1), r.step)
}

// after returns when step n is, from the start. The last step of a round is
// exactly at a multiple of the period.
// Computed from the start and not from the step before, so that no error adds up.
func (r *resyncer) after(n int) time.Duration {
	rounds, rest := n/r.slices, n%r.slices
	return time.Duration(rounds)*r.period + r.period*time.Duration(rest)/time.Duration(r.slices)
}

// step marks the next slice, and those that were missed, and sets the timer.
func (r *resyncer) step() {
	r.mu.Lock()
	if r.ended {
		r.mu.Unlock()
		return
	}
	elapsed := time.Since(r.start)
	for r.after(r.steps+1) <= elapsed {
		bit := uint64(1) << (r.steps % r.slices)
		// A slice that is due already stays so: a handler that is slow gets it once, not
		// once for each step that it missed.
		r.due.Or(bit)
		r.steps++
	}
	r.timer.Reset(r.after(r.steps+1) - elapsed)
	r.mu.Unlock()
	// Without mu: the runner that is woken may end this resyncer, which takes it.
	r.wake()
}

// end stops the clock. A nil resyncer may be ended too.
func (r *resyncer) end() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	if r.timer != nil {
		r.timer.Stop()
	}
}
