package prometheus_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/prometheus"
	"github.com/informerkit/informerkit/reflector"
)

func newInformer(t *testing.T, server *informertest.Server, metrics *prometheus.Provider, name string) *informer.Informer[*corev1.ConfigMap] {
	t.Helper()
	inf, err := informer.New(source(t, server, ""), informer.Options[*corev1.ConfigMap]{Name: name, Metrics: metrics})
	require.NoError(t, err)
	return inf
}

// Promise prometheus/1
// Promise prometheus/2
func TestInformerIsShown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		metrics, registry := newMetrics(t)
		server := newServer(t, "a", "b")
		server.Inject(informertest.Fault{Verb: "watch", Effect: informertest.Delay(2 * time.Second)})
		inf := newInformer(t, server, metrics, "configmaps")
		_, err := inf.AddHandler(slowHandler(0), informer.HandlerOptions{Name: "quick"})
		require.NoError(t, err)
		_, err = inf.AddHandler(slowHandler(time.Minute), informer.HandlerOptions{Name: "slow"})
		require.NoError(t, err)
		assert.Empty(t, scrape(t, registry), "it does not run")

		stop := run(t, inf.Run)
		time.Sleep(time.Second)
		before := scrape(t, registry)
		before.includes(t, page{
			`informer_synced{name="configmaps"}`:                                0,
			`informer_objects{name="configmaps"}`:                               0,
			`informer_events_total{name="configmaps",type="added"}`:             0,
			`informer_queued_items{name="configmaps",watched_namespace=""}`:     0,
			`informer_degraded_seconds{name="configmaps",watched_namespace=""}`: 0,
			`informer_handler_synced{handler="quick",name="configmaps"}`:        0,
			`informer_processing_latency_seconds_count{name="configmaps"}`:      0,
		})
		assert.NotContains(t, before, `informer_sync_duration_seconds{name="configmaps"}`)
		assert.NotContains(t, before, `informer_cache_age_seconds{name="configmaps",watched_namespace=""}`)

		require.NoError(t, informer.WaitForSync(t.Context(), inf))
		create(t, server, "default", "c")
		require.NoError(t, server.Modify(configMaps, "default", "a", func(u *unstructured.Unstructured) {
			u.SetLabels(map[string]string{"x": "y"})
		}))
		require.NoError(t, server.Delete(configMaps, "default", "b"))
		time.Sleep(10 * time.Second)
		now := scrape(t, registry)
		now.includes(t, page{
			`informer_synced{name="configmaps"}`:                                               1,
			`informer_sync_duration_seconds{name="configmaps"}`:                                2,
			`informer_objects{name="configmaps"}`:                                              2,
			`informer_events_total{name="configmaps",type="added"}`:                            3,
			`informer_events_total{name="configmaps",type="updated"}`:                          1,
			`informer_events_total{name="configmaps",type="deleted"}`:                          1,
			`informer_lists_total{name="configmaps"}`:                                          1,
			`informer_queued_items{name="configmaps",watched_namespace=""}`:                    0,
			`informer_cache_age_seconds{name="configmaps",watched_namespace=""}`:               10,
			`informer_degraded_seconds{name="configmaps",watched_namespace=""}`:                0,
			`informer_quarantine_size{name="configmaps",watched_namespace=""}`:                 0,
			`informer_quarantined_objects_total{name="configmaps",watched_namespace=""}`:       0,
			`informer_requests_total{name="configmaps",verb="list",watched_namespace=""}`:      0,
			`informer_requests_total{name="configmaps",verb="watchlist",watched_namespace=""}`: 1,
			`informer_store_resource_version{name="configmaps"}`:                               number(t, server.ResourceVersion()),

			`informer_handler_synced{handler="quick",name="configmaps"}`:          1,
			`informer_handler_lag_events{handler="quick",name="configmaps"}`:      0,
			`informer_handler_lag_seconds{handler="quick",name="configmaps"}`:     0,
			`informer_handler_events_total{handler="quick",name="configmaps"}`:    5,
			`informer_handler_overflows_total{handler="quick",name="configmaps"}`: 0,
			`informer_handler_panics_total{handler="quick",name="configmaps"}`:    0,

			`informer_handler_synced{handler="slow",name="configmaps"}`:       0,
			`informer_handler_catching_up{handler="slow",name="configmaps"}`:  1,
			`informer_handler_catching_up{handler="quick",name="configmaps"}`: 0,
			`informer_handler_lag_events{handler="slow",name="configmaps"}`:   4, // the list, and three changes
			`informer_handler_lag_seconds{handler="slow",name="configmaps"}`:  10,
		})
		assert.Positive(t, now[`informer_processing_latency_seconds_count{name="configmaps"}`])

		stop()
		assert.Empty(t, scrape(t, registry), "it has stopped")
		assert.Empty(t, inf.RemoveNamespace("x"), "and records nothing any more")
	})
}

func TestTroubleIsShown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		metrics, registry := newMetrics(t)
		server := newServer(t, "a")
		inf := newInformer(t, server, metrics, "configmaps")
		run(t, inf.Run)
		require.NoError(t, informer.WaitForSync(t.Context(), inf))

		time.Sleep(time.Minute) // long enough to have been healthy
		server.Inject(informertest.Fault{Times: -1, Effect: informertest.Refuse(
			apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", nil))})
		server.BreakConnections()
		time.Sleep(10 * time.Minute)
		now := scrape(t, registry)
		assert.InDelta(t, 600, now[`informer_degraded_seconds{name="configmaps",watched_namespace=""}`], 2)
		assert.GreaterOrEqual(t, now[`informer_cache_age_seconds{name="configmaps",watched_namespace=""}`], 600.0)
		assert.Positive(t, now[`informer_reconnects_total{name="configmaps",reason="forbidden",watched_namespace=""}`])
		assert.Greater(t, now[`informer_consecutive_failures{name="configmaps",watched_namespace=""}`], 5.0)
		now.includes(t, page{
			`informer_degraded_reason{name="configmaps",reason="forbidden",watched_namespace=""}`: 1,
			`informer_state{name="configmaps",state="Degraded",watched_namespace=""}`:             1,
			`informer_state{name="configmaps",state="Watching",watched_namespace=""}`:             0,
			`informer_source_synced{name="configmaps",watched_namespace=""}`:                      1,
		})
		scrape(t, registry).includes(t, page{
			`informer_synced{name="configmaps"}`:                                                 1,
			`informer_objects{name="configmaps"}`:                                                1,
			`informer_reconnects_total{name="configmaps",reason="network",watched_namespace=""}`: 1,
		})

		server.ClearFaults()
		require.NoError(t, server.Create(&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "data": "not a map",
			"metadata": map[string]any{"namespace": "default", "name": "broken"},
		}}))
		time.Sleep(10 * time.Minute)
		now = scrape(t, registry)
		now.includes(t, page{
			`informer_degraded_seconds{name="configmaps",watched_namespace=""}`:       0,
			`informer_quarantine_size{name="configmaps",watched_namespace=""}`:        1,
			`informer_state{name="configmaps",state="Watching",watched_namespace=""}`: 1,
			`informer_consecutive_failures{name="configmaps",watched_namespace=""}`:   0,
		})
		assert.Empty(t, now.about(`reason="forbidden"`).about("informer_degraded_reason"))
		assert.GreaterOrEqual(t, now[`informer_quarantined_objects_total{name="configmaps",watched_namespace=""}`], 1.0)
		// A bookmark comes each minute, and 2 s before a watch ends: at most a minute, these
		// 2 s and the time until there is another watch are between two.
		assert.LessOrEqual(t, now[`informer_cache_age_seconds{name="configmaps",watched_namespace=""}`], 65.0, "there are bookmarks")
	})
}

func TestEachNamespaceIsASeries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		metrics, registry := newMetrics(t)
		server := newServer(t)
		create(t, server, "one", "a")
		create(t, server, "two", "b")
		inf, err := informer.NewNamespaced(map[string]reflector.ListerWatcher[*corev1.ConfigMap]{
			"one": source(t, server, "one"), "two": source(t, server, "two"),
		}, informer.Options[*corev1.ConfigMap]{Name: "configmaps", Metrics: metrics})
		require.NoError(t, err)
		run(t, inf.Run)
		require.NoError(t, informer.WaitForSync(t.Context(), inf))

		scrape(t, registry).includes(t, page{
			`informer_objects{name="configmaps"}`:                                                 2,
			`informer_queued_items{name="configmaps",watched_namespace="one"}`:                    0,
			`informer_requests_total{name="configmaps",verb="watchlist",watched_namespace="one"}`: 1,
			`informer_requests_total{name="configmaps",verb="watchlist",watched_namespace="two"}`: 1,
		})
		require.True(t, inf.RemoveNamespace("two"))
		assert.Empty(t, scrape(t, registry).about(`watched_namespace="two"`))
		scrape(t, registry).includes(t, page{`informer_objects{name="configmaps"}`: 1})
	})
}

func TestFactoriesShowAllTheirInformers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		metrics, registry := newMetrics(t)
		server := newServer(t, "a")
		ask := func() (*informer.Factory, informer.Shared[*corev1.ConfigMap]) {
			factory, err := informer.NewFactory(server.Config(), informer.FactoryOptions{Metrics: metrics})
			require.NoError(t, err)
			inf, err := informer.For(factory, informer.ForOptions[*corev1.ConfigMap]{Resource: configMaps})
			require.NoError(t, err)
			factory.Start(t.Context())
			require.NoError(t, informer.WaitForSync(t.Context(), inf))
			return factory, inf
		}
		factory, inf := ask()
		scrape(t, registry).includes(t, page{
			`informer_objects{name="configmaps"}`:                   1,
			`informer_events_total{name="configmaps",type="added"}`: 1,
		})
		second, _ := ask() // has an informer of the same name
		scrape(t, registry).includes(t, page{
			`informer_objects{name="configmaps"}`:                     1,
			`informer_objects{name="configmaps-2"}`:                   1,
			`informer_events_total{name="configmaps-2",type="added"}`: 1,
		})

		inf.Release()
		<-inf.Done()
		now := scrape(t, registry)
		assert.Empty(t, now.about(`name="configmaps"`))
		assert.NotEmpty(t, now.about(`name="configmaps-2"`), "it keeps its name")
		require.NoError(t, factory.Shutdown(t.Context()))
		require.NoError(t, second.Shutdown(t.Context()))
		assert.Empty(t, scrape(t, registry))
	})
}

func TestInformerThatCannotStopIsStillShown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		metrics, registry := newMetrics(t)
		inf := newInformer(t, newServer(t, "a"), metrics, "configmaps")
		_, err := inf.AddHandler(slowHandler(time.Hour), informer.HandlerOptions{Name: "stuck"})
		require.NoError(t, err)
		stop := run(t, inf.Run)
		require.NoError(t, informer.WaitForSync(t.Context(), inf))
		synctest.Wait()
		go stop()
		time.Sleep(time.Minute)
		scrape(t, registry).includes(t, page{`informer_handler_lag_seconds{handler="stuck",name="configmaps"}`: 60})
		<-inf.Done()
		assert.Empty(t, scrape(t, registry))
	})
}

func TestHandlersOfTheSameNameAreAddedUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		metrics, registry := newMetrics(t)
		server := newServer(t, "a", "b")
		inf := newInformer(t, server, metrics, "configmaps")
		for _, d := range []time.Duration{0, time.Second, time.Hour} {
			_, err := inf.AddHandler(slowHandler(d), informer.HandlerOptions{Name: "h\xff"})
			require.NoError(t, err)
		}
		run(t, inf.Run)
		require.NoError(t, informer.WaitForSync(t.Context(), inf))
		time.Sleep(30 * time.Second)
		handler := "{handler=\"h\uFFFD\",name=\"configmaps\"}"
		scrape(t, registry).includes(t, page{
			"informer_handler_events_total" + handler: 2 + 2 + 1,
			"informer_handler_lag_events" + handler:   1,
			"informer_handler_lag_seconds" + handler:  30,
			"informer_handler_synced" + handler:       0,
		})
		time.Sleep(2 * time.Hour)
		scrape(t, registry).includes(t, page{
			"informer_handler_events_total" + handler: 6,
			"informer_handler_lag_seconds" + handler:  0,
			"informer_handler_synced" + handler:       1,
		})
	})
}

// TestVersionIsShownByItsLastDigits needs versions that no server has.
func TestVersionIsShownByItsLastDigits(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]float64{
		"7":                    7,
		"123456789012345":      123456789012345,
		"99000000000000012":    12,
		"18446744073709551616": 744073709551616,
		"":                     -1,
		"x":                    -1,
		"x1234567890123456":    -1,
		"-1":                   -1,
	} {
		metrics, registry := newMetrics(t)
		series := metrics.Informer("pods", func() informer.Health { return informer.Health{ResourceVersion: version} })
		got, ok := scrape(t, registry)[`informer_store_resource_version{name="pods"}`]
		if !ok {
			got = -1
		}
		assert.Equal(t, want, got, version)
		series.Close()
	}
}
