//go:build unix

package intern

import (
	"fmt"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkFirstSync decodes objects and keeps them, as a cache does, with and
// without interning. It reports the processor time per object, that of the garbage
// collector included, which has less to mark if parts are shared.
func BenchmarkFirstSync(b *testing.B) {
	const n = 30_000
	for _, s := range samples {
		raw := s.encoded(b, n)
		for _, pooled := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/pool=%t", s.name, pooled), func(b *testing.B) {
				var used int64
				for range b.N {
					runtime.GC()
					before := processorTime(b)
					intern := Transform[any](NewPool())
					kept := make([]any, n)
					for i, r := range raw {
						var err error
						kept[i], err = s.decode(r)
						require.NoError(b, err)
						if pooled {
							_, _ = intern(kept[i])
						}
					}
					used += processorTime(b) - before
					runtime.KeepAlive(kept)
				}
				b.ReportMetric(float64(used)/float64(b.N)/n, "cpu-ns/object")
			})
		}
	}
}

// processorTime is that of the process so far, in nanoseconds.
func processorTime(b *testing.B) int64 {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return u.Utime.Nano() + u.Stime.Nano()
}
