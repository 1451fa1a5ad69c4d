package bench

import (
	"runtime"
	"time"

	"github.com/informerkit/informerkit/internal/verify/measure"
)

// Sample is the outcome of one run, per unit of the row.
type Sample struct {
	// Figure is what the row compares.
	Figure float64 `json:"figure"`
	// Allocs and Bytes were allocated during the run by the whole process.
	Allocs float64 `json:"allocs"`
	Bytes  float64 `json:"bytes"`
	// CPU is the processor time of the whole process, in nanoseconds.
	CPU float64 `json:"cpu"`
	// Goroutines were left by the run.
	Goroutines float64 `json:"goroutines"`
}

// take does one run of n repetitions and returns its outcome. If
// settled is not nil, it is called when what is left of the run has been measured
// and is still there.
func take(row Row, s Subject, n int, settled func()) Sample {
	var before, after runtime.MemStats
	// Not after Before: it may start goroutines that leave no core to a collection.
	measure.Settle(&before)
	if s.Before != nil {
		s.Before()
	}
	goroutines := runtime.NumGoroutine()
	runtime.ReadMemStats(&before)
	used, start := measure.CPUTime(), time.Now()
	s.Run(n)
	elapsed, used := time.Since(start), measure.CPUTime()-used
	runtime.ReadMemStats(&after)
	units := float64(n) * row.units()
	sample := Sample{
		Allocs:     float64(after.Mallocs-before.Mallocs) / units,
		Bytes:      float64(after.TotalAlloc-before.TotalAlloc) / units,
		CPU:        float64(used) / units,
		Goroutines: float64(runtime.NumGoroutine()-goroutines) / units,
	}
	switch row.Measure {
	case Time:
		sample.Figure = float64(elapsed) / units
	case LiveHeap:
		measure.Settle(&after)
		sample.Figure = (live(&after) - live(&before)) / units
		sample.Goroutines = float64(runtime.NumGoroutine()-goroutines) / units
	default:
		sample.Figure = s.Value()
	}
	if settled != nil {
		settled()
	}
	if s.After != nil {
		s.After()
	}
	return sample
}

func live(m *runtime.MemStats) float64 { return float64(m.HeapAlloc) + float64(m.StackInuse) }

// calibrate returns the number of repetitions that take at least d. It runs the
// subject, which warms it up.
func calibrate(row Row, s Subject, d time.Duration) int {
	if row.Repeat > 0 {
		return row.Repeat
	}
	d = max(d, row.Time)
	for n := 1; ; {
		elapsed := try(s, n)
		if elapsed >= d*9/10 || n >= 1e9 {
			return n
		}
		// As many as should fill slightly more than d, with bounded growth: the first
		// repetitions predict the later ones poorly.
		guess := int(1.1 * float64(n) * float64(d) / float64(max(elapsed, time.Microsecond)))
		n = max(n+1, min(guess, 50*n))
	}
}

// try does a run that does not count.
func try(s Subject, n int) time.Duration {
	if s.Before != nil {
		s.Before()
	}
	start := time.Now()
	s.Run(n)
	elapsed := time.Since(start)
	if s.After != nil {
		s.After()
	}
	return elapsed
}
