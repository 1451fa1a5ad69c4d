package monitoring

import (
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// rules returns the alert rules as Prometheus reads them, templates included.
func rules(t *testing.T) []rulefmt.Rule {
	t.Helper()
	groups, errs := rulefmt.Parse(read(t, "alerts.yaml"), false, model.UTF8Validation, syntax, slog.New(slog.DiscardHandler))
	require.Empty(t, errs)
	require.Len(t, groups.Groups, 1)
	return groups.Groups[0].Rules
}

func TestAlertsNameWhatIsExported(t *testing.T) {
	all := live(t)
	label := regexp.MustCompile(`\$labels\.(\w+)`)
	for _, r := range rules(t) {
		names := all.check(t, r.Expr)
		text := r.Annotations["summary"] + r.Annotations["description"]
		assert.NotEmpty(t, r.Annotations["summary"], r.Alert)
		assert.NotEmpty(t, r.Annotations["description"], r.Alert)
		assert.Contains(t, []string{"warning", "critical"}, r.Labels["severity"], r.Alert)
		for _, m := range label.FindAllStringSubmatch(text, -1) {
			assert.True(t, all[names[0]][m[1]], "%s: %s has no label %s", r.Alert, names[0], m[1])
		}
		assert.Contains(t, string(read(t, "README.md")), "| `"+r.Alert+"` |")
	}
	listed := 0
	for _, kind := range []string{"Informer", "Workqueue", "Sharding"} {
		listed += strings.Count(string(read(t, "README.md")), "\n| `"+kind)
	}
	assert.Equal(t, len(rules(t)), listed, "README has all, and no others")
}

// minute is the interval of the samples and of the evaluation.
const minute = time.Minute

// series are values at each minute, by series such as `informer_synced{name="pods"}`.
type series map[string]func(minute int) float64

// fires reports at which minute an alert begins to fire; -1 for never.
func fires(t *testing.T, alert string, minutes int, s series) int {
	t.Helper()
	var rule *rulefmt.Rule
	for _, r := range rules(t) {
		if r.Alert == alert {
			rule = &r
		}
	}
	require.NotNil(t, rule, alert)
	var all []storage.Series
	for name, value := range s {
		expr, err := syntax.ParseMetric(name)
		require.NoError(t, err, name)
		b := labels.NewBuilder(expr)
		for label, value := range targetLabels {
			b.Set(label, value)
		}
		all = append(all, sampled(b.Labels(), minutes, value))
	}
	e := promql.NewEngine(promql.EngineOpts{MaxSamples: 1e6, Timeout: time.Minute, LookbackDelta: 2 * minute, Parser: syntax})
	defer func() { assert.NoError(t, e.Close()) }()
	start := time.Unix(0, 0)
	query, err := e.NewRangeQuery(t.Context(), queryable(all), nil, rule.Expr, start, start.Add(time.Duration(minutes-1)*minute), minute)
	require.NoError(t, err)
	defer query.Close()
	result := query.Exec(t.Context())
	require.NoError(t, result.Err)
	matrix, err := result.Matrix()
	require.NoError(t, err)
	first := -1
	for _, one := range matrix {
		since, before := 0, -2
		for _, point := range one.Floats {
			at := int(point.T / minute.Milliseconds())
			if at != before+1 {
				since = at // it was not so at the minute before: the wait begins again
			}
			before = at
			if time.Duration(at-since)*minute >= time.Duration(rule.For) && (first < 0 || at < first) {
				first = at
			}
		}
	}
	return first
}

func is(v float64) func(int) float64 { return func(int) float64 { return v } }

// from is a value that changes at a minute.
func from(at int, before, after float64) func(int) float64 {
	return func(m int) float64 {
		if m < at {
			return before
		}
		return after
	}
}

// since is a number of seconds that grows from a minute on.
func since(at int) func(int) float64 {
	return func(m int) float64 { return max(0, float64(m-at)*60) }
}

// Each alert fires when it should, and not in its neighbourhood.
func TestAlerts(t *testing.T) {
	t.Parallel()
	tested := map[string]bool{}
	for _, c := range []struct {
		alert string
		at    int
		s     series
	}{
		{"InformerNotSynced", 5, series{`informer_synced{name="pods"}`: is(0)}},
		{"InformerNotSynced", -1, series{`informer_synced{name="pods"}`: from(4, 0, 1)}},
		{"InformerNotSynced", -1, series{`informer_synced{name="pods"}`: is(1)}},

		{"InformerDegraded", 16, series{`informer_degraded_seconds{name="pods",watched_namespace=""}`: since(10), `informer_degraded_reason{name="pods",watched_namespace="",reason="forbidden"}`: from(10, nan, 1)}},
		{"InformerDegraded", 16, series{
			`informer_degraded_seconds{name="pods",watched_namespace="a"}`: since(10), `informer_degraded_reason{name="pods",watched_namespace="a",reason="forbidden"}`: from(10, nan, 1),
			`informer_degraded_seconds{name="pods",watched_namespace="b"}`: since(12), `informer_degraded_reason{name="pods",watched_namespace="b",reason="forbidden"}`: from(12, nan, 1),
		}},
		{"InformerDegraded", -1, series{`informer_degraded_seconds{name="pods",watched_namespace=""}`: is(0)}},
		{"InformerDegraded", -1, series{`informer_degraded_seconds{name="pods",watched_namespace=""}`: is(250), `informer_degraded_reason{name="pods",watched_namespace="",reason="refused"}`: is(1)}},

		{"InformerCacheStale", 16, series{`informer_cache_age_seconds{name="pods",watched_namespace="a"}`: since(5)}},
		{"InformerCacheStale", -1, series{`informer_cache_age_seconds{name="pods",watched_namespace="a"}`: is(59)}},

		{"InformerHandlerLagging", 12, series{`informer_handler_lag_seconds{name="pods",handler="h"}`: since(5)}},
		{"InformerHandlerLagging", -1, series{`informer_handler_lag_seconds{name="pods",handler="h"}`: func(m int) float64 { return float64(m%5) * 60 }}},

		{"InformerHandlerPanicking", 10, series{`informer_handler_panics_total{name="pods",handler="h"}`: from(10, 0, 1)}},
		{"InformerHandlerPanicking", -1, series{`informer_handler_panics_total{name="pods",handler="h"}`: is(7)}},

		{"InformerQuarantine", 20, series{`informer_quarantine_size{name="pods",watched_namespace=""}`: from(5, 0, 2)}},
		{"InformerQuarantine", -1, series{`informer_quarantine_size{name="pods",watched_namespace=""}`: func(m int) float64 { return float64(m % 10) }}},

		{"InformerAuditDifferencesLast", 5, series{`informer_audit_lasting{name="pods",watched_namespace=""}`: from(5, 0, 1)}},
		{"InformerAuditDifferencesLast", -1, series{`informer_audit_lasting{name="pods",watched_namespace=""}`: is(0)}},

		{"WorkqueueNoWorkers", 10, series{`workqueue_depth{name="pods"}`: from(5, 0, 3), `workqueue_running{name="pods"}`: is(0)}},
		{"WorkqueueNoWorkers", -1, series{`workqueue_depth{name="pods"}`: is(3), `workqueue_running{name="pods"}`: is(1)}},
		{"WorkqueueNoWorkers", -1, series{`workqueue_depth{name="pods"}`: is(0), `workqueue_running{name="pods"}`: is(0)}},
		{"WorkqueueNoWorkers", -1, series{`workqueue_depth{name="pods"}`: is(3), `workqueue_running{name="pods"}`: is(1), `workqueue_running{name="nodes"}`: is(0)}},

		{"WorkqueueClassStarved", 12, series{`workqueue_class_oldest_seconds{name="pods",class="1"}`: since(5), `workqueue_class_max_wait_seconds{name="pods",class="1"}`: is(30)}},
		{"WorkqueueClassStarved", -1, series{`workqueue_class_oldest_seconds{name="pods",class="1"}`: is(3600), `workqueue_class_max_wait_seconds{name="pods",class="1"}`: is(3600)}},
		{"WorkqueueClassStarved", -1, series{`workqueue_class_oldest_seconds{name="pods",class="0"}`: is(3600), `workqueue_class_max_wait_seconds{name="pods",class="1"}`: is(1)}},

		{"WorkqueueWorkerStuck", 16, series{`workqueue_longest_running_processor_seconds{name="pods"}`: since(5)}},
		{"WorkqueueWorkerStuck", -1, series{`workqueue_longest_running_processor_seconds{name="pods"}`: is(590)}},

		{"WorkqueueFailing", 35, series{`workqueue_failing{name="pods"}`: from(5, 0, 1)}},
		{"WorkqueueFailing", -1, series{`workqueue_failing{name="pods"}`: func(m int) float64 { return float64(m % 20) }}},

		{"WorkqueueDropping", 10, series{`workqueue_dropped_total{name="pods"}`: from(10, 3, 4)}},
		{"WorkqueueDropping", -1, series{`workqueue_dropped_total{name="pods"}`: is(3)}},

		{"ShardingNoSession", 7, series{`sharding_member{name="shop"}`: from(5, 1, 0)}},
		{"ShardingNoSession", -1, series{`sharding_member{name="shop"}`: func(m int) float64 { return float64(m % 2) }}},

		{"ShardingPartsUnowned", 7, series{`sharding_free_parts{name="shop"}`: from(5, 0, 3)}},
		{"ShardingPartsUnowned", -1, series{`sharding_free_parts{name="shop"}`: func(m int) float64 { return float64(m % 2) }}},

		{"ShardingPartsIdle", 10, series{`sharding_idle_parts{name="shop"}`: from(5, 0, 1)}},
		{"ShardingPartsIdle", -1, series{`sharding_idle_parts{name="shop"}`: func(m int) float64 { return float64(m % 5) }}},

		{"ShardingPartsLost", 10, series{`sharding_lost_parts_total{name="shop"}`: from(10, 3, 4)}},
		{"ShardingPartsLost", -1, series{`sharding_lost_parts_total{name="shop"}`: is(3)}},

		{"ShardingHandoverStuck", 10, series{`sharding_draining_parts{name="shop"}`: from(5, 0, 1)}},
		{"ShardingHandoverStuck", -1, series{`sharding_draining_parts{name="shop"}`: func(m int) float64 { return float64(m % 5) }}},
	} {
		assert.Equal(t, c.at, fires(t, c.alert, 60, c.s), fmt.Sprintf("%s with %v", c.alert, names(c.s)))
		if c.at >= 0 {
			tested[c.alert] = true
		}
	}
	for _, r := range rules(t) {
		assert.True(t, tested[r.Alert], "%s is tested", r.Alert)
	}
}
