package measure

import (
	"runtime"
)

// Settle collects garbage, so that no run pays for that of another one, and what is found
// alive is alive, and reads the statistics. The second collection frees what finalizers
// and pools had kept over the first.
func Settle(m *runtime.MemStats) {
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(m)
}

// HeapInUse is how many bytes of the heap are alive.
func HeapInUse() uint64 {
	var m runtime.MemStats
	Settle(&m)
	return m.HeapAlloc
}
