// Package prometheus shows informers, queues and reflectors to a Prometheus
// server, under the names that dashboards for Kubernetes controllers use.
//
// It is a module of its own, so that the library does not depend on
// github.com/prometheus/client_golang unless you ask for this package.
//
// # The problem
//
// There are two kinds of figures. Counters and histograms record what happens, when
// it happens: an item was added, a batch was applied. Gauges show a state: how many
// items wait, how long the oldest one has been worked on, when the server was last
// heard of. A state changes while nothing happens, and a gauge that is set from time
// to time is wrong in between. Here gauges, and counters that a queue or an informer
// keeps anyway, are read from it at each scrape, by the one collector that is
// registered:
//
//	workqueue ──Added, Started, Finished…──▶ counters, histograms ──┐
//	informer  ──Applied────────────────────▶                        ├──▶ scrape
//	workqueue ◀─Stats───────────────────────── collector ───────────┤
//	informer  ◀─Health────────────────────────                     ─┘
//
// # Use
//
//	registry := prom.NewRegistry() // prom is client_golang's package prometheus
//	provider, err := prometheus.New(registry)
//	...
//	pods, err := informer.New(source, informer.Options[*corev1.Pod]{Name: "pods", Metrics: provider})
//	...
//	series, err := provider.Queue("pods")
//	...
//	queue := workqueue.NewRateLimiting[types.NamespacedName](nil, workqueue.Options[types.NamespacedName]{Metrics: series})
//	series.Attach(queue) // for the metrics that are read at a scrape
//	http.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
//
// For all informers of a factory, set informer.FactoryOptions.Metrics.
//
// # The metrics
//
// All have the label name, that of the queue, informer or reflector. Those that
// are read at each scrape are marked with an asterisk.
//
//	workqueue_adds_total                        requests to process an item
//	workqueue_depth                           * items that wait
//	workqueue_queue_duration_seconds            from being added to being handed out
//	workqueue_work_duration_seconds             from being handed out to being done
//	workqueue_unfinished_work_seconds         * time spent on items in progress, added up
//	workqueue_longest_running_processor_seconds * time spent on the first of these
//	workqueue_retries_total                     additions with a rate limit
//	workqueue_dropped_total                   * items dropped after a failure
//	workqueue_parked                          * items held back until a condition is met
//	workqueue_park_timeouts_total             * parks whose condition was not met in time
//	workqueue_shutdown_losses_total           * requests lost to the shutdown
//
//	informer_objects                          * objects in the cache
//	informer_events_total                       changes of the cache, by type: added, updated, deleted
//	informer_lists_total                        lists that were applied
//	informer_processing_latency_seconds         time taken to apply what was taken out of the queue
//	informer_store_resource_version           * how far the cache has got, last 15 digits
//	informer_synced                           * 1 if the first list is in the cache
//	informer_sync_duration_seconds            * how long that took
//
// About memory, exact or estimated at a scrape, and up to five minutes old:
//
//	informer_structure_bytes                  * the table of objects, without them: exact
//	informer_index_bytes                      * an index, with the label index: exact
//	informer_objects_bytes                    * the objects, without parts in a pool
//	informer_shared_bytes                     * how much more they would take without the pool
//	informer_pool_bytes                       * the pool, for all its informers
//
// With the label namespace, if the informer reads some namespaces one by one:
//
//	informer_queued_items                     * changes that wait to be applied
//	informer_cache_age_seconds                * since the server was last heard of
//	informer_degraded_seconds                 * since listing and watching has been in trouble; 0 if it is not
//	informer_quarantine_size                  * objects that cannot be decoded or transformed
//	informer_quarantined_objects_total        * the same, ever
//	informer_requests_total                   * by verb: list, watchlist, watch
//	informer_reconnects_total                 * ends of watches, by reason: a reflector.ErrorClass
//	informer_audits_total                     * audits, see reflector.Options.AuditInterval
//	informer_audit_differences_total          * wrong objects, by kind: missing, extra, stale
//	informer_audit_repaired_total             * how many of these were put right
//	informer_audit_lasting                    * how many the last audit found again after a repair
//
// With the label handler; handlers of one informer that have the same name are
// added up:
//
//	informer_handler_synced                   * 1 if the first objects were delivered
//	informer_handler_lag_events               * events that wait for it
//	informer_handler_lag_seconds              * how long the oldest has been waiting
//	informer_handler_events_total             * events that were delivered to it
//	informer_handler_overflows_total          * times that it was beyond its bound
//	informer_handler_panics_total             * panics after which it goes on
//
// For a reflector whose Options.Metrics is a [Reflector], used alone or in the
// options of an informer:
//
//	reflector_lists_total                       by result: success or a reflector.ErrorClass
//	reflector_list_duration_seconds             of those that succeeded
//	reflector_items_per_list
//	reflector_watches_total                     by result
//	reflector_watch_duration_seconds
//	reflector_items_per_watch
//	reflector_events_total                      by type
//	reflector_quarantined_objects_total         by reason: decode or transform
//	reflector_state                             1 for the present state
//
// The first seven workqueue_* metrics, informer_queued_items,
// informer_processing_latency_seconds and informer_store_resource_version mean what
// they mean in Kubernetes' own components, and the bounds of their histograms include
// those used there. The other names are this library's. The informer_* ones lack the labels group, version and resource: an informer here
// is identified by its name, which a factory makes from resource and selectors.
//
// Four that are worth an alert: informer_degraded_seconds and
// informer_cache_age_seconds of several minutes (the cache no longer follows),
// informer_handler_lag_seconds (a handler is stuck), and
// workqueue_longest_running_processor_seconds (a worker is).
//
// # Promises
//
//  1. Gauges are of the moment of the scrape, those of memory up to five minutes
//     older. No goroutine updates them.
//  2. Counters begin at 0 with the informer, queue or reflector, so that the
//     first increase is seen. Only series with a label whose values are not known
//     beforehand (reason, result, type of a reflector's events) begin with the first
//     such event.
//  3. When an informer has stopped, and when a [Queue] or [Reflector] is closed,
//     a scrape that begins afterwards shows none of its series. The name is free
//     again.
//  4. A scrape never fails because of a name. That of a second running informer gets a
//     number, that of a second queue or reflector is an error, and what is not
//     UTF-8 is replaced.
//  5. Nothing is global: two registries are independent of each other.
//
// # Failures
//
//   - The registry has such metrics already: [New] says so.
//   - A queue is not attached: its metrics with an asterisk are missing.
//   - An informer is started before an old one of the same name has stopped: the
//     new one is shown with a number for as long as it runs. Wait for the old
//     one's Done first.
//   - A handler never returns: the informer cannot stop, and its series stay, with
//     the handler's growing lag among them.
//
// # Cost
//
// What is counted costs an atomic addition or two, or an observation of a
// histogram, and allocates nothing. A scrape costs each informer one call of
// Health, in proportion to its handlers and namespaces, and each queue one call
// of Stats, in constant time. Every five minutes it costs each informer one call of
// MemoryUsage: some 10 ms for 50,000 objects and their pool.
package prometheus
