package deltafifo

import (
	"flag"
	"math/rand/v2"
	"testing"

	"go.uber.org/goleak"
)

var seed = flag.Uint64("seed", 0, "seed of the random histories; 0 draws one, which the test prints")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newRand returns a source of randomness that -seed can repeat.
func newRand(t testing.TB) *rand.Rand {
	t.Helper()
	s := *seed
	if s == 0 {
		s = rand.Uint64()
	}
	t.Logf("repeat with -seed=%d", s)
	return rand.New(rand.NewPCG(s, s))
}
