package prometheus_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	prom "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/audit"
	"github.com/informerkit/informerkit/informer/health"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/prometheus"
	"github.com/informerkit/informerkit/workqueue"
)

// TestScrapeOverHTTP has a server, a controller and a scrape as in production,
// on loopback.
func TestScrapeOverHTTP(t *testing.T) {
	t.Parallel()
	metrics, registry := newMetrics(t)
	target := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	defer target.Close()
	server := informertest.Start(t, informertest.Options{})
	create(t, server, "default", "a")
	create(t, server, "default", "b")

	queue := workqueue.NewRateLimiting(nil, workqueue.Options[types.NamespacedName]{Name: "configmaps", Metrics: metrics})
	inf := newInformer(t, server, metrics, "configmaps")
	handler, err := inf.AddHandler(informer.EnqueueKey[*corev1.ConfigMap](queue), informer.HandlerOptions{Name: "enqueue"})
	require.NoError(t, err)
	stop := run(t, inf.Run)
	require.NoError(t, informer.WaitForSync(t.Context(), inf, handler))

	done := make(chan struct{}, 2)
	stopWorkers := run(t, func(ctx context.Context) error {
		return workqueue.Process(ctx, queue, 1, func(context.Context, types.NamespacedName) error {
			done <- struct{}{}
			return nil
		})
	})
	<-done
	<-done
	get := func() page {
		answer, err := target.Client().Get(target.URL)
		require.NoError(t, err)
		defer answer.Body.Close()
		return parse(t, answer.Body)
	}
	get().includes(t, page{
		`workqueue_adds_total{name="configmaps"}`:                            2,
		`workqueue_depth{name="configmaps"}`:                                 0,
		`workqueue_queue_duration_seconds_count{name="configmaps"}`:          2,
		`informer_objects{name="configmaps"}`:                                2,
		`informer_events_total{name="configmaps",type="added"}`:              2,
		`informer_handler_events_total{handler="enqueue",name="configmaps"}`: 2,
	})

	stopWorkers()
	stop()
	get() // shows the end of the queue
	assert.Empty(t, get())
}

func TestNamesFollowTheConventions(t *testing.T) {
	t.Parallel()
	metrics, registry := newMetrics(t)
	everything(t, metrics)
	problems, err := testutil.GatherAndLint(registry)
	require.NoError(t, err)
	assert.Empty(t, problems)
}

// everything makes each metric have a series.
func everything(t *testing.T, metrics *prometheus.Provider) {
	t.Helper()
	metrics.Informer("pods", func() informer.Health {
		h := troubled()
		h.Monitor = audit.Health{Interval: time.Hour, Last: time.Now()}
		return informer.Health{
			Synced: true, ResourceVersion: "1",
			Sources:  []informer.SourceHealth{{Reflector: h, FilteredBy: informer.FilteredByServer}},
			Handlers: []informer.HandlerHealth{{Name: "h"}},
		}
	})
	workqueue.New(workqueue.Options[string]{Name: "pods", Metrics: metrics, MaxWait: []time.Duration{0, time.Minute}})
	metrics.Replica("pods", func() health.Replica { return health.Replica{Deadline: time.Now()} })
	r, err := metrics.Reflector("pods")
	require.NoError(t, err)
	touch(r)
}

func TestDocumentationListsEveryMetric(t *testing.T) {
	t.Parallel()
	metrics, registry := newMetrics(t)
	everything(t, metrics)
	families, err := registry.Gather()
	require.NoError(t, err)
	var shown []string
	for _, f := range families {
		shown = append(shown, f.GetName())
		assert.NotEmpty(t, f.GetHelp(), f.GetName())
	}
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	var listed []string
	for _, row := range regexp.MustCompile("(?m)^\\| `((?:workqueue|informer|reflector|sharding)_[a-z_]+)` ").FindAllSubmatch(text, -1) {
		listed = append(listed, string(row[1]))
	}
	slices.Sort(shown)
	slices.Sort(listed)
	assert.Equal(t, shown, listed)
}

func TestRegisteringTwiceIsAClearError(t *testing.T) {
	t.Parallel()
	metrics, registry := newMetrics(t)
	_, err := prometheus.New(registry)
	require.ErrorContains(t, err, "share one Provider")
	var already prom.AlreadyRegisteredError
	require.ErrorAs(t, err, &already)

	// With a prefix there are two of each.
	_, err = prometheus.New(prom.WrapRegistererWithPrefix("mine_", registry))
	require.NoError(t, err)

	everything(t, metrics)
	metrics.Close()
	assert.Empty(t, scrape(t, registry))
	_, err = prometheus.New(registry)
	require.NoError(t, err, "after Close the names are free")
}

func TestMetricsOfClientGoAreInTheWay(t *testing.T) {
	t.Parallel()
	registry := prom.NewRegistry()
	registry.MustRegister(prom.NewGaugeVec(prom.GaugeOpts{Name: "workqueue_depth", Help: "Current depth of workqueue"}, []string{"name"}))
	_, err := prometheus.New(registry)
	require.ErrorContains(t, err, "workqueue_depth")
	require.ErrorContains(t, err, "WrapRegistererWithPrefix")
	assert.Empty(t, scrape(t, registry))
}

// Promise prometheus/5
func TestTwoRegistriesAreIndependent(t *testing.T) {
	t.Parallel()
	one, oneRegistry := newMetrics(t)
	two, twoRegistry := newMetrics(t)
	workqueue.New(workqueue.Options[string]{Name: "pods", Metrics: one}).Add("a")
	workqueue.New(workqueue.Options[string]{Name: "pods", Metrics: two})
	scrape(t, oneRegistry).includes(t, page{`workqueue_adds_total{name="pods"}`: 1})
	scrape(t, twoRegistry).includes(t, page{`workqueue_adds_total{name="pods"}`: 0})
	one.Close()
	assert.NotEmpty(t, scrape(t, twoRegistry))
}

func TestRecordingAllocatesNothing(t *testing.T) {
	metrics, _ := newMetrics(t)
	inf := metrics.Informer("pods", func() informer.Health { return informer.Health{} })
	queue := metrics.Workqueue("pods", workqueue.New(workqueue.Options[string]{}))
	r, err := metrics.Reflector("pods")
	require.NoError(t, err)
	touch(r) // the labels that are found out as one goes
	for name, record := range map[string]func(){
		"informer":  func() { inf.Applied(informer.EventCounts{Added: 1, Objects: 1}, time.Millisecond) },
		"queue":     func() { queue.Added(1); queue.Started(time.Second); queue.Finished(time.Second); queue.Retried() },
		"reflector": func() { r.Received(watch.Added) },
	} {
		assert.Zero(t, testing.AllocsPerRun(100, record), name)
	}
}

func TestRegistererMustNotBeNil(t *testing.T) {
	t.Parallel()
	_, err := prometheus.New(nil)
	require.ErrorContains(t, err, "the Registerer is nil")
}

// TestScrapesWhileEverythingComesAndGoes is for the race detector, and for the
// pedantic registry, which fails a scrape that has a series twice.
// Promise prometheus/4
func TestScrapesWhileEverythingComesAndGoes(t *testing.T) {
	t.Parallel()
	metrics, registry := newMetrics(t)
	server := newServer(t, "a")
	done := make(chan struct{})
	var work, scrapes sync.WaitGroup
	for i := range 3 {
		work.Go(func() {
			for range 5 {
				inf := newInformer(t, server, metrics, "configmaps") // all have the same name
				_, err := inf.AddHandler(slowHandler(0), informer.HandlerOptions{})
				require.NoError(t, err)
				stop := run(t, inf.Run)
				assert.NoError(t, informer.WaitForSync(t.Context(), inf))
				stop()
			}
		})
		work.Go(func() {
			for range 50 {
				queue := workqueue.New(workqueue.Options[int]{Name: fmt.Sprint("queue-", i%2), Metrics: metrics})
				queue.Add(i)
				queue.ShutDown()
				queue.Get(t.Context())
				queue.Done(i)
			}
		})
		work.Go(func() {
			for range 50 {
				r, err := metrics.Reflector(fmt.Sprint("reflector-", i))
				if !assert.NoError(t, err) {
					return
				}
				touch(r)
				r.Close()
				touch(r)
			}
		})
	}
	for range 2 {
		scrapes.Go(func() {
			for {
				_, err := registry.Gather()
				assert.NoError(t, err)
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	work.Wait()
	close(done)
	scrapes.Wait()
	assert.Empty(t, scrape(t, registry))
}
