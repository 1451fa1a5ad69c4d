package prometheus_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/health"
	"github.com/informerkit/informerkit/informer/sharding"
)

func TestReplicaIsReadAtEachScrape(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		metrics, registry := newMetrics(t)
		shown := health.Replica{}
		series := metrics.Replica("shop", func() health.Replica { return shown })
		before := scrape(t, registry)
		before.includes(t, page{
			`sharding_renewals_total{name="shop",result="success"}`: 0, `sharding_renewals_total{name="shop",result="error"}`: 0,
			`sharding_member{name="shop"}`: 0,
		})

		shown = health.Replica{
			Parts: 64, Session: "a", Sessions: 2, Quota: 3, Free: 5, Deadline: time.Now().Add(7 * time.Second), Took: 9, Gave: 4, Lost: 1,
			Held:     []health.Part{{Part: 1, Working: true}, {Part: 2, Working: true, Draining: true}, {Part: 3}, {Part: 4}},
			Replicas: []health.Member{{Session: "a"}, {Session: "b", Leaving: true}, {Session: "c"}},
		}
		series.Renewed(time.Second, nil)
		series.Renewed(2*time.Second, errors.New("refused"))
		series.Renewed(3*time.Second, nil)
		series.Gave(7, 500*time.Millisecond)
		series.Took(1)
		series.Lost(1)
		scrape(t, registry).includes(t, page{
			`sharding_member{name="shop"}`: 1, `sharding_leader{name="shop"}`: 0, `sharding_deadline_seconds{name="shop"}`: 7,
			`sharding_parts{name="shop"}`: 64, `sharding_quota_parts{name="shop"}`: 3, `sharding_held_parts{name="shop"}`: 4,
			`sharding_idle_parts{name="shop"}`: 2, `sharding_draining_parts{name="shop"}`: 1, `sharding_free_parts{name="shop"}`: 5,
			`sharding_replicas{name="shop"}`: 3, `sharding_leaving_replicas{name="shop"}`: 1, `sharding_sessions_total{name="shop"}`: 2,
			`sharding_taken_parts_total{name="shop"}`: 9, `sharding_given_parts_total{name="shop"}`: 4, `sharding_lost_parts_total{name="shop"}`: 1,
			`sharding_renewals_total{name="shop",result="success"}`: 2, `sharding_renewals_total{name="shop",result="error"}`: 1,
			`sharding_renewal_duration_seconds_sum{name="shop"}`: 6, `sharding_drain_duration_seconds_sum{name="shop"}`: 0.5,
		})

		// Without a session there is no deadline.
		shown = health.Replica{Parts: 1}
		without := scrape(t, registry)
		without.includes(t, page{`sharding_member{name="shop"}`: 0, `sharding_leader{name="shop"}`: 0})
		assert.NotContains(t, without, `sharding_deadline_seconds{name="shop"}`)

		series.Close()
		series.Close()
		series.Renewed(time.Second, nil)
		assert.Empty(t, scrape(t, registry))
		again := metrics.Replica("shop", func() health.Replica { return shown })
		second := metrics.Replica("shop", func() health.Replica { return shown })
		second.Renewed(time.Second, nil)
		scrape(t, registry).includes(t, page{
			`sharding_renewals_total{name="shop",result="success"}`: 0, `sharding_renewals_total{name="shop-2",result="success"}`: 1,
		})
		series.Close() // it must not end its successor
		assert.NotEmpty(t, scrape(t, registry).about(`name="shop"`))
		again.Close()
		second.Close()
		assert.Empty(t, scrape(t, registry))
	})
}

// A leader of a real group, from its first to its last moment.
func TestReplicaLeads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		metrics, registry := newMetrics(t)
		replica, err := sharding.New(server.Config(), sharding.Options{
			Name: "elected", Namespace: "default", Identity: "one", Parts: 1, Metrics: metrics, Logger: slog.New(slog.DiscardHandler),
			Work: func(ctx context.Context, _ *sharding.Part) error { <-ctx.Done(); return nil },
		})
		require.NoError(t, err)
		assert.Empty(t, scrape(t, registry), "before Run")
		stop := run(t, replica.Run)
		time.Sleep(time.Minute)
		synctest.Wait()
		got := scrape(t, registry)
		got.includes(t, page{
			`sharding_member{name="elected"}`: 1, `sharding_leader{name="elected"}`: 1, `sharding_held_parts{name="elected"}`: 1,
			`sharding_replicas{name="elected"}`: 1, `sharding_taken_parts_total{name="elected"}`: 1, `sharding_sessions_total{name="elected"}`: 1,
		})
		assert.InDelta(t, 10, got[`sharding_deadline_seconds{name="elected"}`], 3)
		assert.Greater(t, got[`sharding_renewals_total{name="elected",result="success"}`], 20.0)
		stop()
		assert.Empty(t, scrape(t, registry))
		server.Close()
	})
}

func TestRangesOfAnInformer(t *testing.T) {
	t.Parallel()
	metrics, registry := newMetrics(t)
	halves := sharding.SplitHashes(4)
	health := informer.Health{
		Parts:   []informer.PartHealth{{Name: halves[0].String(), Synced: true}, {Name: halves[1].String()}, {Name: halves[2].String()}},
		Sources: []informer.SourceHealth{{Outside: 7}},
	}
	metrics.Informer("pods", func() informer.Health { return health })
	got := scrape(t, registry)
	got.includes(t, page{`informer_ranges{name="pods"}`: 3, `informer_unlisted_ranges{name="pods"}`: 2, `informer_outside_objects_total{name="pods",watched_namespace=""}`: 7})
	assert.NotContains(t, got, `informer_server_filters{name="pods",watched_namespace=""}`, "not known yet")
	for by, want := range map[informer.FilteredBy]float64{informer.FilteredByServer: 1, informer.FilteredByClient: 0} {
		health.Sources[0].FilteredBy = by
		scrape(t, registry).includes(t, page{`informer_server_filters{name="pods",watched_namespace=""}`: want})
	}
}
