package prometheus

import prom "github.com/prometheus/client_golang/prometheus"

// collector is what the registry knows: one collector for all series, so that
// they are registered together or not at all, and so that gauges are read at
// each scrape, and at no other time.
type collector struct {
	*informers
	*queues
	*reflectors
	*replicas
}

// part is what the collector consists of.
type part interface {
	describe(ch chan<- *prom.Desc)
	collect(ch chan<- prom.Metric)
}

// newCollector returns a collector without any series.
func newCollector() *collector {
	return &collector{newInformers(), newQueues(), newReflectors(), newReplicas()}
}

// parts returns the parts in the order in which their series are sent.
func (c *collector) parts() []part {
	return []part{c.informers, c.queues, c.reflectors, c.replicas}
}

// Describe implements prom.Collector.
func (c *collector) Describe(ch chan<- *prom.Desc) {
	for _, p := range c.parts() {
		p.describe(ch)
	}
}

// Collect implements prom.Collector. It may be called concurrently.
func (c *collector) Collect(ch chan<- prom.Metric) {
	for _, p := range c.parts() {
		p.collect(ch)
	}
}

// vector is a family of series that are kept up to date as things happen.
type vector interface {
	prom.Collector
	DeletePartialMatch(prom.Labels) int
}

// vectors is what is deleted together.
type vectors []vector

// describe sends the descriptions of all families.
func (v vectors) describe(ch chan<- *prom.Desc) {
	for _, vec := range v {
		vec.Describe(ch)
	}
}

// collect sends all series. The vectors have locks of their own.
func (v vectors) collect(ch chan<- prom.Metric) {
	for _, vec := range v {
		vec.Collect(ch)
	}
}

// end deletes all series of a name.
func (v vectors) end(name string) {
	for _, vec := range v {
		vec.DeletePartialMatch(prom.Labels{"name": name})
	}
}

// level describes a family of series whose values are found at each scrape.
type level struct {
	desc *prom.Desc
	kind prom.ValueType
}

// gauge describes a level that goes up and down.
func gauge(name, help string, labels ...string) level {
	return level{prom.NewDesc(name, help, append([]string{"name"}, labels...), nil), prom.GaugeValue}
}

// total describes a level that only grows. It is counted elsewhere, and read at each
// scrape.
func total(name, help string, labels ...string) level {
	return level{prom.NewDesc(name, help, append([]string{"name"}, labels...), nil), prom.CounterValue}
}

// reading sends the levels of one name.
type reading struct {
	ch   chan<- prom.Metric
	name string
}

// send sends the value of a level. The labels come after the name, in the order of the
// description; they are made valid UTF-8, as a registry refuses to gather anything at
// all otherwise.
func (r reading) send(l level, value float64, labels ...string) {
	values := []string{r.name}
	for _, v := range labels {
		values = append(values, clean(v))
	}
	r.ch <- prom.MustNewConstMetric(l.desc, l.kind, value, values...)
}

// one is the value of a level that is either true or false.
func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// counterVec returns a family of counters, with the label name before the others.
func counterVec(name, help string, labels ...string) *prom.CounterVec {
	return prom.NewCounterVec(prom.CounterOpts{Name: name, Help: help}, append([]string{"name"}, labels...))
}

// histogramVec returns a family of histograms, with the label name alone.
func histogramVec(name, help string, buckets []float64) *prom.HistogramVec {
	return prom.NewHistogramVec(prom.HistogramOpts{Name: name, Help: help, Buckets: buckets}, []string{"name"})
}
