package informer

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// minResyncStep is the least time between two slices of a resync.
const minResyncStep = time.Second

// maxResyncSlices is the number of bits in resyncer.due.
const maxResyncSlices = 64

// resyncer says when which objects are due to be told again.
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
	kick   func()

	mu    sync.Mutex
	timer *time.Timer
	start time.Time
	steps int
	over  bool
}

func newResyncer(period time.Duration, kick func()) *resyncer {
	slices := max(1, min(maxResyncSlices, int(period/minResyncStep)))
	return &resyncer{period: period, slices: slices, seed: maphash.MakeSeed(), kick: kick}
}

// slice returns the slice that a key belongs to.
func (r *resyncer) slice(key types.NamespacedName) int {
	if r.slices == 1 {
		return 0
	}
	return int(maphash.Comparable(r.seed, key) % uint64(r.slices))
}

// begin starts the clock.
func (r *resyncer) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return
	}
	r.start = time.Now()
	r.timer = time.AfterFunc(r.after(1), r.step)
}

// after returns when step n is, from the start. The last step of a round is
// exactly at a multiple of the period.
func (r *resyncer) after(n int) time.Duration {
	rounds, rest := n/r.slices, n%r.slices
	return time.Duration(rounds)*r.period + r.period*time.Duration(rest)/time.Duration(r.slices)
}

// step marks the next slice, and those that were missed, and sets the timer.
func (r *resyncer) step() {
	r.mu.Lock()
	if r.over {
		r.mu.Unlock()
		return
	}
	elapsed := time.Since(r.start)
	for r.after(r.steps+1) <= elapsed {
		bit := uint64(1) << (r.steps % r.slices)
		r.due.Or(bit)
		r.steps++
	}
	r.timer.Reset(r.after(r.steps+1) - elapsed)
	r.mu.Unlock()
	r.kick()
}

// end stops the clock. A nil resyncer may be ended too.
func (r *resyncer) end() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	if r.timer != nil {
		r.timer.Stop()
	}
}
