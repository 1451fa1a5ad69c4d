package reconcile

import (
	"errors"
	"os"
	"runtime"
	"runtime/pprof"
)

// profileRate is how many allocated bytes there are for each sample.
const profileRate = 64 << 10

// profile is one in progress of a controller's process.
type profile struct {
	cpu    *os.File
	allocs string // the file for the allocations, which are known at the end
}

// startProfile begins with profiles whose files begin with a name.
func startProfile(name string) (*profile, error) {
	f, err := os.Create(name + ".cpu")
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	runtime.MemProfileRate = profileRate
	return &profile{cpu: f, allocs: name + ".allocs"}, nil
}

// stop ends the profiles and writes them. On nil it does nothing.
func (p *profile) stop() error {
	if p == nil {
		return nil
	}
	pprof.StopCPUProfile()
	f, err := os.Create(p.allocs)
	if err != nil {
		return errors.Join(err, p.cpu.Close())
	}
	return errors.Join(pprof.Lookup("allocs").WriteTo(f, 0), f.Close(), p.cpu.Close())
}
