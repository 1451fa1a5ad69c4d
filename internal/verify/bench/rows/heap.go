package rows

import (
	"runtime"
	"runtime/metrics"
	"time"
)

// heapReachable is what the last garbage collection found reachable.
const heapReachable = "/gc/heap/live:bytes"

// highestReachable returns the most that is reachable while f runs.
func highestReachable(f func()) float64 {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	sample := []metrics.Sample{{Name: heapReachable}}
	var most uint64
	for {
		metrics.Read(sample)
		most = max(most, sample[0].Value.Uint64())
		select {
		case <-done:
			return float64(most)
		case <-tick.C:
		}
	}
}

// reachable is what is reachable now.
func reachable() float64 {
	runtime.GC()
	runtime.GC()
	sample := []metrics.Sample{{Name: heapReachable}}
	metrics.Read(sample)
	return float64(sample[0].Value.Uint64())
}
