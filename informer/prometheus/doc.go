// Package prometheus shows informers, queues, reflectors and replicas to a Prometheus
// server, under the names that dashboards for Kubernetes controllers use.
//
// It is a module of its own, so that the library does not depend on
// github.com/prometheus/client_golang unless you ask for this package.
//
// Counters and histograms record what happens, when it happens. Gauges, and counters that
// a queue or an informer keeps anyway, are read at each scrape by the one collector that
// is registered:
//
//	workqueue ──Added, Started, Finished…──▶ counters, histograms ──┐
//	informer  ──Applied────────────────────▶                        ├──▶ scrape
//	workqueue ◀─Stats───────────────────────── collector ───────────┤
//	informer  ◀─Health────────────────────────                      │
//	sharding  ──Renewed, Gave; ◀─Health───────                     ─┘
//
// README.md beside this file lists the metrics; those with an asterisk there are read at
// each scrape. It also says what to alert on, what it costs, and how OpenTelemetry gets
// them. dashboard.json is for Grafana, alerts.yaml for Prometheus.
//
// # Use
//
//	registry := prom.NewRegistry() // prom is client_golang's package prometheus
//	provider, err := prometheus.New(registry)
//	...
//	pods, err := informer.New(source, informer.Options[*corev1.Pod]{Name: "pods", Metrics: provider})
//	...
//	queue := workqueue.NewRateLimiting(nil, workqueue.Options[types.NamespacedName]{Name: "pods", Metrics: provider})
//	http.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
//
// For all informers of a factory, set informer.FactoryOptions.Metrics.
//
// # Promises
//
//  1. Gauges are of the moment of the scrape. No goroutine updates them.
//  2. Counters begin at 0 with the informer, queue, reflector or replica, so that the
//     first increase is seen. Only series with a label whose values are not known
//     beforehand (reason, result, type of a reflector's events) begin with the first
//     such event.
//  3. When an informer or a replica has stopped, and when a [Reflector] is closed, a scrape
//     that begins afterwards shows none of its series. A queue that was shut down and is
//     empty is shown by one more scrape. The name is free again.
//  4. A scrape never fails because of a name. That of a second informer, queue or replica
//     gets a number, that of a second reflector is an error, and what is not UTF-8 is
//     replaced.
//  5. Nothing is global: two registries are independent of each other.
//
// # Reading order
//
// provider.go (what a program calls), collector.go (what a registry calls), names.go;
// informer.go with source.go and handler.go; queue.go; reflector.go; replica.go.
package prometheus
