package clientgo

import (
	"sync"
	"time"

	upstream "k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"github.com/informerkit/informerkit/workqueue"
)

// gaugePeriod is how often the times of running items are written, as in client-go.
const gaugePeriod = 500 * time.Millisecond

// eventMetrics passes the events of a queue on to the metrics of client-go's provider.
// The queue calls it for each event, with the durations that it has measured itself.
type eventMetrics struct {
	depth         upstream.GaugeMetric
	adds, retries upstream.CounterMetric
	latency, work upstream.HistogramMetric
}

// bridge makes the metrics of a queue from a provider for client-go's queues. The names
// of the metrics are the provider's.
func bridge(name string, provider upstream.MetricsProvider) (workqueue.Metrics, *gaugeLoop) {
	return &eventMetrics{
			depth:   provider.NewDepthMetric(name),
			adds:    provider.NewAddsMetric(name),
			latency: provider.NewLatencyMetric(name),
			work:    provider.NewWorkDurationMetric(name),
			retries: provider.NewRetriesMetric(name),
		}, &gaugeLoop{
			unfinished: provider.NewUnfinishedWorkSecondsMetric(name),
			longest:    provider.NewLongestRunningProcessorSecondsMetric(name),
			stopped:    make(chan struct{}),
		}
}

// provided provides what bridge has made.
type provided struct{ workqueue.Metrics }

// Workqueue implements [workqueue.MetricsProvider].
func (p provided) Workqueue(string, interface{ Stats() workqueue.Stats }) workqueue.Metrics {
	return p.Metrics
}

// Added implements [workqueue.Metrics].
func (m *eventMetrics) Added(n int) {
	// client-go's metrics have no Add, only Inc.
	for range n {
		m.adds.Inc()
		m.depth.Inc()
	}
}

// Retried implements [workqueue.Metrics].
func (m *eventMetrics) Retried() { m.retries.Inc() }

// Started implements [workqueue.Metrics].
func (m *eventMetrics) Started(waited time.Duration) {
	m.depth.Dec()
	m.latency.Observe(waited.Seconds())
}

// Finished implements [workqueue.Metrics].
func (m *eventMetrics) Finished(worked time.Duration) { m.work.Observe(worked.Seconds()) }

// gaugeLoop writes periodically what is a level and not an event, as a provider of
// client-go cannot ask for it. It is the one goroutine that a queue of this package can
// have without a clock of its own.
type gaugeLoop struct {
	unfinished, longest upstream.SettableGaugeMetric
	stopped             chan struct{}
	done                sync.WaitGroup
}

// run writes the gauges until stop, with the clock that a test may have set. Stats
// locks the queue for constant time. The values are up to gaugePeriod old, as in
// client-go.
func (g *gaugeLoop) run(stats func() workqueue.Stats, c clock.WithTicker) {
	if c == nil {
		c = clock.RealClock{}
	}
	ticker := c.NewTicker(gaugePeriod)
	g.done.Go(func() {
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C():
				now := stats()
				g.unfinished.Set(now.UnfinishedWork.Seconds())
				g.longest.Set(now.LongestRunning.Seconds())
			case <-g.stopped:
				return
			}
		}
	})
}

// stop ends the loop and waits for it, so that no gauge is written afterwards. It is
// called once.
func (g *gaugeLoop) stop() {
	close(g.stopped)
	g.done.Wait()
}
