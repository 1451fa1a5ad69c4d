package prometheus_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/audit"
	"github.com/informerkit/informerkit/informer/health"
	"github.com/informerkit/informerkit/reflector"
	"github.com/informerkit/informerkit/workqueue"
)

// shown says for each field that the inspection page is made of which metric has it, or,
// after a dash, why none does.
var shown = map[reflect.Type]map[string]string{
	reflect.TypeFor[informer.Health](): {
		"Name":            "- the label name",
		"Synced":          "informer_synced",
		"SyncedAfter":     "informer_sync_duration_seconds",
		"Stopped":         "- there are no series then",
		"Objects":         "informer_objects",
		"ResourceVersion": "informer_store_resource_version",
		"Events":          "informer_events_total informer_lists_total",
		"OverdueWrites":   "informer_overdue_writes",
		"OverdueTotal":    "informer_overdue_writes_total",
		"Sources":         "- see informer.SourceHealth",
		"Parts":           "informer_ranges",
		"PartsOf":         "- a setting of the program",
		"Handlers":        "- see informer.HandlerHealth",
	},
	reflect.TypeFor[informer.SourceHealth](): {
		"Namespace":  "- the label watched_namespace",
		"Queued":     "informer_queued_items",
		"Selector":   "- a text of the configuration",
		"FilteredBy": "informer_server_filters",
		"Outside":    "informer_outside_objects_total",
		"Reflector":  "- see reflector.Health",
	},
	reflect.TypeFor[informer.PartHealth](): {
		"Name":   "- a part of the keys, of which there may be any number",
		"Synced": "informer_unlisted_ranges",
	},
	reflect.TypeFor[health.Replica](): {
		"Name":          "- the label name, if the program has one name for both",
		"Parts":         "sharding_parts",
		"Identity":      "- the labels of the scrape",
		"Session":       "sharding_member",
		"State":         "sharding_member",
		"Sessions":      "sharding_sessions_total",
		"Quota":         "sharding_quota_parts",
		"Held":          "sharding_held_parts sharding_leader",
		"Free":          "sharding_free_parts",
		"Replicas":      "sharding_replicas",
		"LastRenewal":   "sharding_deadline_seconds sharding_renewals_total",
		"Deadline":      "sharding_deadline_seconds",
		"Took":          "sharding_taken_parts_total",
		"Gave":          "sharding_given_parts_total",
		"Lost":          "sharding_lost_parts_total",
		"LastError":     "- a text; sharding_renewals_total has how many failed",
		"LastErrorTime": "- the same",
		"Leases":        "- the watch of the Leases: without it, sharding_deadline_seconds falls",
	},
	reflect.TypeFor[health.Part](): {
		"Part":     "- a number of any range",
		"Working":  "sharding_idle_parts",
		"Draining": "sharding_draining_parts",
		"Since":    "sharding_drain_duration_seconds",
	},
	reflect.TypeFor[health.Member](): {
		"Session": "- a text for each session, of any number",
		"Held":    "- sharding_held_parts of that replica",
		"Leaving": "sharding_leaving_replicas",
		"Seen":    "- sharding_deadline_seconds of that replica",
	},
	reflect.TypeFor[reflector.Health](): {
		"State":                 "informer_state",
		"Since":                 "- changes(informer_state[1h]) has how often it changes",
		"Synced":                "informer_source_synced",
		"LastSync":              "informer_cache_age_seconds",
		"LastError":             "- a text; its class is in informer_degraded_reason",
		"LastErrorClass":        "informer_degraded_reason",
		"LastErrorTime":         "- it matters while there is trouble: informer_degraded_seconds",
		"DegradedSince":         "informer_degraded_seconds",
		"ConsecutiveFailures":   "informer_consecutive_failures",
		"NextAttempt":           "- a moment from now at most",
		"ResourceVersion":       "- of one source: informer_store_resource_version; of several it is not comparable",
		"LastEvent":             "informer_cache_age_seconds",
		"Lists":                 "informer_requests_total",
		"WatchLists":            "informer_requests_total",
		"Watches":               "informer_requests_total",
		"Reconnects":            "informer_reconnects_total",
		"WatchListRefusedUntil": "- the label verb of informer_requests_total says what is used",
		"Quarantined":           "informer_quarantined_objects_total",
		"Quarantine":            "informer_quarantine_size",
		"Monitor":               "- see audit.Health",
	},
	reflect.TypeFor[audit.Health](): {
		"Interval":      "informer_audit_interval_seconds",
		"Last":          "informer_audit_age_seconds",
		"Audits":        "informer_audits_total",
		"Objects":       "informer_audit_objects",
		"Missing":       "informer_audit_differences_total",
		"Extra":         "informer_audit_differences_total",
		"Stale":         "informer_audit_differences_total",
		"Repaired":      "informer_audit_repaired_total",
		"Lasting":       "informer_audit_lasting",
		"LastError":     "- a text; informer_audit_age_seconds grows if audits fail",
		"LastErrorTime": "- the same",
	},
	reflect.TypeFor[informer.HandlerHealth](): {
		"Name":          "- the label handler",
		"Synced":        "informer_handler_synced",
		"Lag":           "informer_handler_lag_events",
		"LagAge":        "informer_handler_lag_seconds",
		"CatchingUp":    "informer_handler_catching_up",
		"Delivered":     "informer_handler_events_total",
		"Overflows":     "informer_handler_overflows_total",
		"Panics":        "informer_handler_panics_total",
		"LastPanic":     "- a text, and a key",
		"LastPanicTime": "- increase(informer_handler_panics_total[10m])",
	},
	reflect.TypeFor[workqueue.Stats](): {
		"Queued":         "workqueue_depth",
		"Again":          "workqueue_depth",
		"Delayed":        "workqueue_delayed",
		"Parked":         "workqueue_parked",
		"Running":        "workqueue_running",
		"Failing":        "workqueue_failing",
		"Added":          "workqueue_adds_total",
		"Retried":        "workqueue_retries_total",
		"Dropped":        "workqueue_dropped_total",
		"Panics":         "workqueue_panics_total",
		"ParkTimeouts":   "workqueue_park_timeouts_total",
		"ShutdownLosses": "workqueue_shutdown_losses_total",
		"UnfinishedWork": "workqueue_unfinished_work_seconds",
		"LongestRunning": "workqueue_longest_running_processor_seconds",
	},
	reflect.TypeFor[workqueue.PriorityClassInspection](): {
		"MaxWait":     "workqueue_class_max_wait_seconds",
		"Queued":      "workqueue_class_depth",
		"Groups":      "- a group is a value that the program chooses, so there may be any number",
		"QueuedSince": "workqueue_class_oldest_seconds",
	},
	reflect.TypeFor[workqueue.Inspection[string]](): {
		"Name":            "- the label name",
		"ShuttingDown":    "- the program ends",
		"Stats":           "- see workqueue.Stats",
		"PriorityClasses": "- see workqueue.PriorityClassInspection",
		"Queued":          "- items, each by itself",
		"Delayed":         "- the same",
		"Parked":          "- the same",
		"Running":         "- the same",
		"Timed":           "- an option",
	},
}

// What the page shows in numbers is a metric. A field that is new has to be one, or have
// a reason why not.
func TestWhatThePageShowsIsAMetric(t *testing.T) {
	t.Parallel()
	metrics, registry := newMetrics(t)
	everything(t, metrics)
	families, err := registry.Gather()
	require.NoError(t, err)
	exported := map[string]bool{}
	for _, f := range families {
		exported[f.GetName()] = true
	}
	for typ, fields := range shown {
		for i := range typ.NumField() {
			name := typ.Field(i).Name
			where, ok := fields[name]
			if assert.True(t, ok, "%s.%s is neither a metric nor is there a reason why not", typ, name) && !strings.HasPrefix(where, "- ") {
				for metric := range strings.FieldsSeq(where) {
					assert.True(t, exported[metric], "%s.%s is to be shown by %s, which does not exist", typ, name, metric)
				}
			}
		}
		assert.Equal(t, typ.NumField(), len(fields), "%s has no more fields than that", typ)
	}
}

// However many objects and items there are, the series are as many.
func TestSeriesDoNotGrowWithTheNumberOfObjects(t *testing.T) {
	t.Parallel()
	count := func(n int) int {
		metrics, registry := newMetrics(t)
		queue := workqueue.New(workqueue.Options[int]{Name: "pods", Metrics: metrics})
		health := troubled()
		for i := range n {
			queue.Add(i)
			health.Quarantine = append(health.Quarantine, &reflector.ObjectError{})
		}
		inf := metrics.Informer("pods", func() informer.Health {
			return informer.Health{Objects: n, Sources: []informer.SourceHealth{{Reflector: health}}}
		})
		inf.Applied(informer.EventCounts{Added: n, Objects: n}, 0)
		return len(scrape(t, registry))
	}
	assert.Equal(t, count(1), count(1000))
}
