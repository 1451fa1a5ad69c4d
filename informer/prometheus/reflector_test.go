package prometheus_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/prometheus"
	"github.com/informerkit/informerkit/reflector"
)

// touch records one of each.
func touch(r *prometheus.Reflector) {
	r.Listed(time.Second, 1, "")
	r.Watched(time.Second, 1, "closed")
	r.Received(watch.Added)
	r.Quarantined(reflector.ClassDecode)
	r.StateChanged(reflector.StateNew, reflector.StateConnecting)
}

// troubled is the health of a reflector that has seen a lot.
func troubled() reflector.Health {
	return reflector.Health{
		Synced: true, LastSync: time.Now(), DegradedSince: time.Now(),
		Reconnects: map[reflector.ErrorClass]int{"closed": 1},
	}
}

func TestReflectorIsShown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		metrics, registry := newMetrics(t)
		series, err := metrics.Reflector("configmaps")
		require.NoError(t, err)
		server := newServer(t, "a", "b")
		server.Inject(informertest.Fault{Verb: "list", Effect: informertest.Refuse(apierrors.NewInternalError(assert.AnError))})
		inf, err := informer.New(source(t, server, ""), informer.Options[*corev1.ConfigMap]{
			Reflector: reflector.Options{Metrics: series, Sync: reflector.SyncList},
		})
		require.NoError(t, err)
		stop := run(t, inf.Run)
		require.NoError(t, informer.WaitForSync(t.Context(), inf))
		create(t, server, "default", "c")
		time.Sleep(time.Second)
		synctest.Wait()
		scrape(t, registry).includes(t, page{
			`reflector_lists_total{name="configmaps",result="server error"}`: 1,
			`reflector_lists_total{name="configmaps",result="success"}`:      1,
			`reflector_list_duration_seconds_count{name="configmaps"}`:       1,
			`reflector_items_per_list_sum{name="configmaps"}`:                2,
			`reflector_events_total{name="configmaps",type="added"}`:         1,
			`reflector_state{name="configmaps",state="Watching"}`:            1,
			`reflector_state{name="configmaps",state="Degraded"}`:            0,
			`reflector_watch_duration_seconds_count{name="configmaps"}`:      0,
		})

		server.BreakConnections()
		time.Sleep(time.Minute)
		scrape(t, registry).includes(t, page{
			`reflector_watches_total{name="configmaps",result="network"}`: 1,
			`reflector_watch_duration_seconds_count{name="configmaps"}`:   1,
			`reflector_items_per_watch_sum{name="configmaps"}`:            1,
			`reflector_state{name="configmaps",state="Watching"}`:         1,
		})

		stop()
		scrape(t, registry).includes(t, page{
			`reflector_state{name="configmaps",state="Stopped"}`:  1,
			`reflector_state{name="configmaps",state="Watching"}`: 0,
		})
		series.Close()
		assert.Empty(t, scrape(t, registry))
	})
}

// Promise prometheus/3
func TestReflectorEndsWithItsRecorder(t *testing.T) {
	t.Parallel()
	metrics, registry := newMetrics(t)
	series, err := metrics.Reflector("pods")
	require.NoError(t, err)
	_, err = metrics.Reflector("pods")
	require.ErrorContains(t, err, `there is a reflector named "pods" already`)
	touch(series)
	series.Close()
	touch(series) // new labels among them: they must not come back
	assert.Empty(t, scrape(t, registry))

	again, err := metrics.Reflector("pods")
	require.NoError(t, err)
	series.Close()
	touch(again)
	scrape(t, registry).includes(t, page{`reflector_items_per_list_count{name="pods"}`: 1})
}

// A server may send any text as the type of an event: it is no label.
func TestTheTypesOfEventsAreBounded(t *testing.T) {
	t.Parallel()
	metrics, registry := newMetrics(t)
	series, err := metrics.Reflector("configmaps")
	require.NoError(t, err)
	for _, typ := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted, watch.Bookmark, watch.Error, "", "added", "PATCHED-1", "PATCHED-2"} {
		series.Received(typ)
	}
	assert.Equal(t, page{
		`reflector_events_total{name="configmaps",type="added"}`:    1,
		`reflector_events_total{name="configmaps",type="modified"}`: 1,
		`reflector_events_total{name="configmaps",type="deleted"}`:  1,
		`reflector_events_total{name="configmaps",type="bookmark"}`: 1,
		`reflector_events_total{name="configmaps",type="error"}`:    1,
		`reflector_events_total{name="configmaps",type="unknown"}`:  4,
	}, scrape(t, registry).about("reflector_events_total"))
}
