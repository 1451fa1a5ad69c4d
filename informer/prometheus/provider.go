package prometheus

import (
	"errors"
	"fmt"
	"strings"

	prom "github.com/prometheus/client_golang/prometheus"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/health"
	"github.com/informerkit/informerkit/workqueue"
)

var (
	_ informer.MetricsProvider      = (*Provider)(nil)
	_ workqueue.MetricsProvider     = (*Provider)(nil)
	_ health.ReplicaMetricsProvider = (*Provider)(nil)
)

// Provider creates the series of any number of informers, queues, reflectors and replicas, in
// one registry. Create it with [New]; all methods may be called from any
// goroutine.
//
// It is the option Metrics of informers, queues and replicas, and of a factory for all of
// its informers:
//
//	informer.Options[*corev1.Pod]{Name: "pods", Metrics: provider}
//
// If something of the same kind and name has series already, the new ones get a number:
// "pods-2".
type Provider struct {
	registerer prom.Registerer
	collector  *collector
}

// New registers the metrics. It fails if the registry has metrics of these
// names: those of another call, or what client-go's and controller-runtime's
// metrics packages register under the same names. One Provider serves a whole
// process: pass it on. For several, give each a registry of its own, or a prefix with
// prometheus.WrapRegistererWithPrefix.
func New(registerer prom.Registerer) (*Provider, error) {
	if registerer == nil {
		return nil, errors.New("prometheus: the Registerer is nil; pass the registry that is scraped, or prometheus.DefaultRegisterer of client_golang")
	}
	c := newCollector()
	if err := registerer.Register(c); err != nil {
		return nil, fmt.Errorf("prometheus: the registry does not take these metrics; if it has them already, share one Provider, or wrap the Registerer with WrapRegistererWithPrefix: %w", err)
	}
	return &Provider{registerer: registerer, collector: c}, nil
}

// Close takes everything out of the registry. Informers, queues and reflectors may
// go on recording; no scrape shows it.
func (p *Provider) Close() { p.registerer.Unregister(p.collector) }

// Informer begins the series of an informer. [informer.Informer.Run] calls it,
// and ends the series when it returns.
func (p *Provider) Informer(name string, health func() informer.Health) informer.Metrics {
	return p.collector.addInformer(clean(name), health)
}

// Workqueue begins the series of a queue. The functions of package workqueue that create
// queues call it. The series of a queue that was shut down and is empty end with the next
// scrape, which shows what the shutdown has lost, or with the next queue of the name.
func (p *Provider) Workqueue(name string, queue interface{ Stats() workqueue.Stats }) workqueue.Metrics {
	return p.collector.addQueue(clean(name), queue)
}

// Reflector begins the series of a reflector, to be given to it as its Metrics.
// It fails if name is empty, or is that of a reflector that has not been closed.
func (p *Provider) Reflector(name string) (*Reflector, error) {
	return p.collector.addReflector(clean(name))
}

// Replica begins the series of a replica of package sharding, whose Run calls it, and ends
// them when it returns.
func (p *Provider) Replica(name string, health func() health.Replica) health.ReplicaMetrics {
	return p.collector.addReplica(clean(name), health)
}

// clean returns s as a valid value of a label.
func clean(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
