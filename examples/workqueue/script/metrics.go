package script

import (
	"fmt"
	"sync"
	"time"

	"github.com/informerkit/informerkit/examples/demo"
)

// queueMetrics are the queue's metrics. A program would feed Prometheus with them; here
// they are summed for the last line, and wake the demo when one changes.
type queueMetrics struct {
	bell demo.Bell

	mu                   sync.Mutex
	adds, retries        int
	starts               int
	longestWait, longest time.Duration
}

func (m *queueMetrics) Added(n int) {
	m.count(func() { m.adds += n })
}

func (m *queueMetrics) Retried() {
	m.count(func() { m.retries++ })
}

func (m *queueMetrics) Started(waited time.Duration) {
	m.count(func() {
		m.starts++
		m.longestWait = max(m.longestWait, waited)
	})
}

func (m *queueMetrics) Finished(worked time.Duration) {
	m.count(func() { m.longest = max(m.longest, worked) })
}

func (m *queueMetrics) count(change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change()
	m.bell.Ring()
}

// String puts the numbers into a line.
func (m *queueMetrics) String() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return fmt.Sprintf("%d adds, %d attempts, %d retries; longest in the queue %v, with a worker %v",
		m.adds, m.starts, m.retries, m.longestWait.Round(time.Millisecond), m.longest.Round(time.Millisecond))
}
