package differential

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

var (
	seedFlag  = flag.Uint64("seed", 0, "run the histories of this seed only; 0 runs as many as -seeds says")
	seedsFlag = flag.Int("seeds", 0, "how many seeds to run, from a random one on; 0 runs a few hundred")
	forFlag   = flag.Duration("for", 0, "stop after so long, however many seeds are left")
)

// kind is a kind of history: how to make one from a seed, and how to run it.
type kind[S any] struct {
	few      int // how many seeds are enough for every day
	generate func(seed uint64) []S
	// run returns what is wrong, or nil. It is called in no bubble.
	run func(t *testing.T, seed uint64, steps []S) error
}

// check runs the histories of all seeds, and prints the shortest form of the
// first that fails.
func (k kind[S]) check(t *testing.T) {
	first, n := *seedFlag, 1
	if first == 0 {
		first, n = 1+rand.Uint64N(1<<40), k.few
		if *seedsFlag > 0 {
			n = *seedsFlag
		}
	}
	t.Logf("%d seeds from %d on", n, first)
	begin := time.Now()
	var next, done atomic.Int64
	t.Cleanup(func() {
		t.Logf("%d histories in %v", done.Load(), time.Since(begin).Round(time.Millisecond))
	})
	for worker := range min(n, runtime.GOMAXPROCS(0)) {
		t.Run(fmt.Sprintf("worker-%d", worker), func(t *testing.T) {
			t.Parallel()
			for !t.Failed() && (*forFlag == 0 || time.Since(begin) < *forFlag) {
				i := next.Add(1) - 1
				if i >= int64(n) {
					return
				}
				k.one(t, first+uint64(i))
				if d := done.Add(1); d%1000 == 0 {
					fmt.Fprintf(os.Stderr, "%s: %d histories in %v\n", t.Name(), d, time.Since(begin).Round(time.Second))
				}
			}
		})
	}
}

// one runs the history of one seed.
func (k kind[S]) one(t *testing.T, seed uint64) {
	steps := k.generate(seed)
	err := k.run(t, seed, steps)
	if err == nil {
		return
	}
	t.Errorf("seed %d, a history of %d steps: %v\nrepeat with -args -seed=%d; making it shorter…", seed, len(steps), err, seed)
	short := minimise(steps, func(part []S) bool {
		failure := k.run(t, seed, part)
		if failure != nil {
			err = failure
		}
		return failure != nil
	})
	if len(short) == len(steps) {
		t.Errorf("seed %d: no step can be left out, or it depends on chance", seed)
	}
	t.Errorf("seed %d, the shortest history that fails:\n%s%v", seed, list(short), err)
}

// list prints one step per line.
func list[S any](steps []S) string {
	var b strings.Builder
	for i, s := range steps {
		fmt.Fprintf(&b, "\t%d. %v\n", i+1, s)
	}
	return b.String()
}

// random returns the source of a history's choices.
func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x64696666)) }
