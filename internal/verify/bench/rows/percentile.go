package rows

import (
	"slices"
	"time"
)

// percentile sorts the durations and returns the one below which p of 100 are.
func percentile(ds []time.Duration, p int) time.Duration {
	slices.Sort(ds)
	return ds[min(len(ds)-1, len(ds)*p/100)]
}
