//go:build unix

package measure

import (
	"syscall"
	"time"
)

// CPUTime is the processor time that this process has used so far, or 0 where that is
// not known.
func CPUTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
