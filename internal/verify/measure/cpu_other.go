//go:build !unix

package measure

import "time"

// CPUTime is not known here.
func CPUTime() time.Duration { return 0 }
