package clientgo

import (
	"strconv"
	"time"

	upstream "k8s.io/client-go/tools/cache"

	"github.com/informerkit/informerkit/informer"
)

// informerMetrics writes the metrics of client-go's informers.
type informerMetrics struct {
	id              upstream.InformerNameAndResource
	queued, version upstream.GaugeMetric
	latency         upstream.HistogramMetric
	health          func() informer.Health
}

// newMetrics returns the metrics of an informer, or nil if it has none: without an
// identity, or without a provider.
func newMetrics(id upstream.InformerNameAndResource, given upstream.InformerMetricsProvider) informer.MetricsProvider {
	provider := metricsProvider(given)
	if provider == nil || !id.Reserved() {
		return nil
	}
	return &informerMetrics{
		id:      id,
		queued:  provider.NewQueuedItemMetric(id),
		version: provider.NewStoreResourceVersionMetric(id),
		latency: provider.NewProcessingLatencyMetric(id),
	}
}

// Informer implements [informer.MetricsProvider]. An informer runs once, so it is called
// once.
func (m *informerMetrics) Informer(_ string, health func() informer.Health) informer.Metrics {
	m.health = health
	return m
}

// Synced implements [informer.Metrics]; client-go has no such metric.
func (m *informerMetrics) Synced(time.Duration) {}

// Applied implements [informer.Metrics]. One batch is one observation of the latency.
func (m *informerMetrics) Applied(counts informer.EventCounts, took time.Duration) {
	h := m.health()
	// The queue has this batch, too, until all of it is applied. A bookmark is not counted.
	queued := -max(1, counts.Added+counts.Updated+counts.Deleted)
	for _, s := range h.Sources {
		queued += s.Queued
	}
	m.queued.Set(float64(max(0, queued)))
	m.latency.Observe(took.Seconds())
	// The last 15 digits, as client-go has them: a float64 holds no more.
	rv := h.ResourceVersion
	if n, err := strconv.ParseInt(rv[max(0, len(rv)-15):], 10, 64); err == nil {
		m.version.Set(float64(n))
	}
}

// Close implements [informer.Metrics].
func (m *informerMetrics) Close() {}
