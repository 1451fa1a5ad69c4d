package prometheus

import (
	"errors"
	"fmt"
	"strings"

	prom "github.com/prometheus/client_golang/prometheus"

	"github.com/informerkit/informerkit/informer"
)

var _ informer.MetricsProvider = (*Provider)(nil)

// Provider creates the series of any number of informers, queues, reflectors and replicas, in
// one registry. Create it with [New]; all methods may be called from any
// goroutine.
//
// It is an [informer.MetricsProvider], so what an informer, or a factory for all of its
// informers, needs is
//
//	informer.Options[*corev1.Pod]{Name: "pods", Metrics: provider}
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
//
// If an informer of the same name is running, the series get a number: "pods-2".
func (p *Provider) Informer(name string, health func() informer.Health) informer.Metrics {
	return p.collector.addInformer(clean(name), health)
}

// Queue creates the series of a queue. Set them as its Metrics, and then attach the
// queue with [Queue.Attach]. It fails if name is empty, or is that of a
// queue that has not been closed.
func (p *Provider) Queue(name string) (*Queue, error) {
	return p.collector.addQueue(clean(name))
}

// Reflector begins the series of a reflector, to be given to it as its Metrics.
// It fails if name is empty, or is that of a reflector that has not been closed.
func (p *Provider) Reflector(name string) (*Reflector, error) {
	return p.collector.addReflector(clean(name))
}

// Replica creates the series of a replica of package sharding. Set them as its Metrics, and
// then attach the replica with [Replica.Attach]. It fails if name is empty, or is that of a
// replica that has not been closed.
func (p *Provider) Replica(name string) (*Replica, error) {
	return p.collector.addReplica(clean(name))
}

// clean returns s as a valid value of a label.
func clean(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
