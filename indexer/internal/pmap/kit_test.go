package pmap

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// random is printed by every random test; PMAP_SEED repeats a run.
func random(t testing.TB) *rand.Rand {
	s := uint64(time.Now().UnixNano())
	if e := os.Getenv("PMAP_SEED"); e != "" {
		n, err := strconv.ParseUint(e, 10, 64)
		require.NoError(t, err)
		s = n
	}
	t.Logf("repeat with PMAP_SEED=%d", s)
	return rand.New(rand.NewPCG(s, 1))
}
