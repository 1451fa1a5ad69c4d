package prometheus

import (
	"errors"
	"fmt"
	"strings"

	prom "github.com/prometheus/client_golang/prometheus"

	"github.com/informerkit/informerkit/informer"
)

var _ informer.MetricsProvider = (*Metrics)(nil)

// Metrics holds the series of any number of informers, queues and reflectors in
// one registry. Make one with [New]; all methods may be called from any
// goroutine.
//
// It is an [informer.MetricsProvider], so what an informer, or a factory for all of its
// informers, needs is
//
//	informer.Options[*corev1.Pod]{Name: "pods", Metrics: metrics}
type Metrics struct {
	registerer prom.Registerer
	collector  *collector
}

// New registers the metrics. It fails if the registry has metrics of these
// names: those of another call, or what client-go's and controller-runtime's
// metrics packages register under the same names. One Metrics serves a whole
// process; pass it on, or give each its own registry or prefix.
func New(registerer prom.Registerer) (*Metrics, error) {
	if registerer == nil {
		return nil, errors.New("prometheus: the Registerer is nil; pass the registry that is scraped, or prometheus.DefaultRegisterer of client_golang")
	}
	c := newCollector()
	if err := registerer.Register(c); err != nil {
		return nil, fmt.Errorf("prometheus: the registry does not take these metrics; if it has them already, share one Metrics, or wrap the Registerer with WrapRegistererWithPrefix: %w", err)
	}
	return &Metrics{registerer: registerer, collector: c}, nil
}

// Close takes everything out of the registry. What still records may go on; it
// is not seen.
func (m *Metrics) Close() { m.registerer.Unregister(m.collector) }

// Informer begins the series of an informer. [informer.Informer.Run] calls it,
// and ends the series when it returns.
//
// If an informer of the same name is running, the series get a number: "pods-2".
func (m *Metrics) Informer(name string, health func() informer.Health) informer.Metrics {
	return m.collector.addInformer(clean(name), health)
}

// Queue creates the series of a queue. Set them as its Metrics, and then attach the
// queue with [Queue.Attach]. It fails if name is empty, or is that of a
// queue that has not been closed.
func (m *Metrics) Queue(name string) (*Queue, error) {
	return m.collector.addQueue(clean(name))
}

// Reflector begins the series of a reflector, to be given to it as its Metrics.
// It fails if name is empty, or is that of a reflector that has not been closed.
func (m *Metrics) Reflector(name string) (*Reflector, error) {
	return m.collector.addReflector(clean(name))
}

// clean makes a string fit for the value of a label.
func clean(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
