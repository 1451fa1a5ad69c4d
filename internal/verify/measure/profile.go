package measure

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
)

// Profile writes a CPU profile until stop is called, and then a heap profile, into files
// whose names begin with prefix.
func Profile(prefix string) (stop func(), err error) {
	stopCPU, err := ProfileCPU(prefix + ".cpu.pprof")
	if err != nil {
		return nil, err
	}
	return func() {
		stopCPU()
		ProfileHeap(prefix + ".heap.pprof")
	}, nil
}

// ProfileCPU profiles until stop is called.
func ProfileCPU(file string) (stop func(), err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return nil, err
	}
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		f.Close()
	}, nil
}

// ProfileHeap writes what is on the heap. A failure costs the profile only.
func ProfileHeap(file string) {
	f, err := os.Create(file)
	if err == nil {
		defer f.Close()
		err = pprof.WriteHeapProfile(f)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "no heap profile:", err)
	}
}
