package prometheus_test

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	prom "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/prometheus"
	"github.com/informerkit/informerkit/reflector"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // the tests make trouble
	goleak.VerifyTestMain(m)
}

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// page is what a scrape found: the values by series, such as
// `workqueue_depth{name="pods"}`.
type page map[string]float64

// scrape asks the handler of a registry, without a network, so that it may be
// used in a bubble.
func scrape(t *testing.T, g prom.Gatherer) page {
	t.Helper()
	answer := httptest.NewRecorder()
	promhttp.HandlerFor(g, promhttp.HandlerOpts{}).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusOK, answer.Code, answer.Body.String())
	return parse(t, answer.Body)
}

func parse(t *testing.T, body io.Reader) page {
	t.Helper()
	p := page{}
	for lines := bufio.NewScanner(body); lines.Scan(); {
		if line := lines.Text(); !strings.HasPrefix(line, "#") {
			at := strings.LastIndexByte(line, ' ')
			v, err := strconv.ParseFloat(line[at+1:], 64)
			require.NoError(t, err, line)
			p[line[:at]] = v
		}
	}
	return p
}

// about returns the series with a label, for example name="pods", those of the
// buckets of histograms left out.
func (p page) about(label string) page {
	found := maps.Clone(p)
	maps.DeleteFunc(found, func(series string, _ float64) bool {
		return !strings.Contains(series, label) || strings.Contains(series, "_bucket{")
	})
	return found
}

// includes fails the test if one of the series is missing or has another value.
func (p page) includes(t *testing.T, want page) {
	t.Helper()
	for _, series := range slices.Sorted(maps.Keys(want)) {
		got, ok := p[series]
		if assert.True(t, ok, "there is no %s", series) {
			assert.InDelta(t, want[series], got, 1e-9, series)
		}
	}
}

func newMetrics(t *testing.T) (*prometheus.Provider, *prom.Registry) {
	t.Helper()
	registry := prom.NewPedanticRegistry() // it checks what is collected against what was described
	metrics, err := prometheus.New(registry)
	require.NoError(t, err)
	return metrics, registry
}

func newServer(t *testing.T, names ...string) *informertest.Server {
	t.Helper()
	server := informertest.Start(t, informertest.Options{InMemory: true})
	for _, name := range names {
		create(t, server, "default", name)
	}
	return server
}

func create(t *testing.T, server *informertest.Server, namespace, name string) {
	t.Helper()
	require.NoError(t, server.Create(&corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
	}))
}

func source(t *testing.T, server *informertest.Server, namespace string) reflector.ListerWatcher[*corev1.ConfigMap] {
	t.Helper()
	// In JSON, as protobuf has no room for an object that does not fit its type.
	lw, err := reflector.NewResource[*corev1.ConfigMap](server.Config(), configMaps, reflector.ResourceOptions{
		Namespace: namespace, Encoding: reflector.EncodingJSON,
	})
	require.NoError(t, err)
	return lw
}

// run runs something until the function that it returns is called, or the test
// ends.
func run(t *testing.T, f func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	stop = func() {
		if ctx.Err() == nil {
			cancel()
			assert.NoError(t, <-done)
		}
	}
	t.Cleanup(stop)
	return stop
}

// slowHandler takes some time for each event.
func slowHandler(d time.Duration) informer.Handler[*corev1.ConfigMap] {
	return informer.HandlerFunc[*corev1.ConfigMap](func(informer.Event[*corev1.ConfigMap]) {
		<-time.After(d)
	})
}

func number(t *testing.T, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	require.NoError(t, err)
	return v
}
