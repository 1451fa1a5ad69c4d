package workqueue

import "time"

// ThroughputPeriod is the length of each period of [Inspection].Throughput.
const ThroughputPeriod = 10 * time.Second

// throughputPeriods is how many of them are kept: five minutes.
const throughputPeriods = 30

// throughput counts how many items were done in each of the last periods.
type throughput struct {
	period int64 // the latest one, in periods since the start of the queue
	counts [throughputPeriods]uint32
}

// count counts an item that is done.
func (t *throughput) count(now int64) {
	t.advance(now)
	t.counts[t.period%throughputPeriods]++
}

// advance makes the period of now the latest one. A time that was read before the lock
// was taken may be of an earlier period, and counts for the latest.
func (t *throughput) advance(now int64) {
	period := now / int64(ThroughputPeriod)
	for next := max(t.period+1, period-throughputPeriods+1); next <= period; next++ {
		t.counts[next%throughputPeriods] = 0
	}
	t.period = max(t.period, period)
}

// inspect returns the counts, the oldest first.
func (t *throughput) inspect(now int64) []int {
	t.advance(now)
	all := make([]int, throughputPeriods)
	for i := range all {
		all[i] = int(t.counts[(t.period+1+int64(i))%throughputPeriods])
	}
	return all
}
