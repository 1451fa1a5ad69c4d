package monitoring

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	prom "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/prometheus"
	"github.com/informerkit/informerkit/reflector"
	"github.com/informerkit/informerkit/workqueue"
)

// targetLabels are what Prometheus gives to a target that it has found in a cluster, as
// with a ServiceMonitor. A label of the same name in what it scrapes is renamed to
// exported_NAME, unless the scrape says honor_labels.
var targetLabels = map[string]string{
	"job": "operator", "instance": "10.0.0.1:8080",
	"namespace": "my-operator", "pod": "operator-0", "container": "operator", "endpoint": "metrics", "service": "operator", "node": "n1",
}

// None of our labels is one that Prometheus gives to targets: it would be renamed.
func TestNoLabelIsThatOfATarget(t *testing.T) {
	for name, labels := range live(t) {
		for label := range targetLabels {
			if label != "job" && label != "instance" { // which gather adds
				assert.False(t, labels[label], "%s has the label %s", name, label)
			}
		}
	}
}

// tool returns a program that install.sh has fetched, or one of the folder in PROMETHEUS.
func tool(t *testing.T, name string) string {
	t.Helper()
	folder := os.Getenv("PROMETHEUS")
	if folder == "" {
		folder = ".bin"
	}
	path, err := filepath.Abs(filepath.Join(folder, name))
	require.NoError(t, err)
	_, err = os.Stat(path)
	require.NoError(t, err, "run internal/verify/monitoring/install.sh first")
	return path
}

// degradedController runs an informer of two namespaces that were both forbidden after
// the first list, and a queue, and serves their metrics.
func degradedController(t *testing.T) (address string) {
	t.Helper()
	registry := prom.NewPedanticRegistry()
	metrics, err := prometheus.New(registry)
	require.NoError(t, err)
	server := informertest.Start(t, informertest.Options{})
	silent := slog.New(slog.DiscardHandler)
	factory, err := informer.NewFactory(server.Config(), informer.FactoryOptions{Namespaces: []string{"team-a", "team-b"}, Metrics: metrics, Logger: silent})
	require.NoError(t, err)
	inf, err := informer.For[*corev1.ConfigMap](factory, informer.ForOptions[*corev1.ConfigMap]{
		Resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"},
	})
	require.NoError(t, err)
	_, err = inf.AddHandler(informer.HandlerFuncs[*corev1.ConfigMap]{}, informer.HandlerOptions{Name: "nothing"})
	require.NoError(t, err)
	queue := workqueue.NewRateLimiting(nil, workqueue.Options[string]{Name: "configmaps", Metrics: metrics})
	queue.Add("a") // and no worker
	t.Cleanup(queue.ShutDown)

	ctx, cancel := context.WithCancel(t.Context())
	factory.Start(ctx)
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, factory.Shutdown(context.Background()))
	})
	require.NoError(t, factory.WaitForSync(ctx))
	server.Inject(informertest.Fault{Times: -1, Effect: informertest.Refuse(apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", nil))})
	server.BreakConnections()
	require.Eventually(t, func() bool {
		for _, s := range inf.Health().Sources {
			if reason, _, _ := s.Reflector.Degraded(); reason != reflector.ClassForbidden {
				return false
			}
		}
		return true
	}, time.Minute, 10*time.Millisecond, "both namespaces are forbidden")

	page := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	t.Cleanup(page.Close)
	return strings.TrimPrefix(page.URL, "http://")
}

// A Prometheus runs while the test does.
type server struct{ url string }

// scraping runs Prometheus with the alert rules, on a target with the labels of a cluster.
func scraping(t *testing.T, target string) server {
	t.Helper()
	folder := t.TempDir()
	labels, err := json.Marshal(targetLabels) // JSON is YAML
	require.NoError(t, err)
	config := fmt.Sprintf("{global: {scrape_interval: 200ms, scrape_timeout: 200ms, evaluation_interval: 200ms}, rule_files: [alerts.yaml], "+
		"scrape_configs: [{job_name: operator, static_configs: [{targets: [%q], labels: %s}]}]}", target, labels)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "prometheus.yaml"), []byte(config), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "alerts.yaml"), read(t, "alerts.yaml"), 0o600))

	// A port that was free a moment ago: Prometheus does not say which one it got.
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := free.Addr().String()
	require.NoError(t, free.Close())
	var log bytes.Buffer
	cmd := exec.CommandContext(t.Context(), tool(t, "prometheus"), "--config.file=prometheus.yaml", "--storage.tsdb.path=data", "--web.listen-address="+address)
	cmd.Dir, cmd.Stdout, cmd.Stderr = folder, &log, &log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { // t.Context has ended
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	return server{"http://" + address + "/api/v1/"}
}

// get asks for a path of the API; it reports false as long as Prometheus is not ready.
func (s server) get(t *testing.T, path string, data any) bool {
	t.Helper()
	response, err := http.Get(s.url + path) //nolint:noctx // of this machine, a moment
	if err != nil {
		return false
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusServiceUnavailable {
		return false
	}
	return assert.NoError(t, json.NewDecoder(response.Body).Decode(&struct{ Data any }{data}))
}

// query returns the labels of what an expression yields now.
func (s server) query(t *testing.T, expression string) (labels []map[string]string) {
	t.Helper()
	var data struct {
		Result []struct{ Metric map[string]string }
	}
	s.get(t, "query?query="+url.QueryEscape(expression), &data)
	for _, one := range data.Result {
		labels = append(labels, one.Metric)
	}
	return labels
}

// A real Prometheus scrapes a controller as in a cluster, and can evaluate every rule.
// Two namespaces are in trouble, so a join that leaves one of our labels out fails.
func TestARealPrometheusEvaluatesAllRules(t *testing.T) {
	t.Parallel()
	prometheus := scraping(t, degradedController(t))
	require.Eventually(t, func() bool { return len(prometheus.query(t, "informer_degraded_reason == 1")) == 2 }, time.Minute, 100*time.Millisecond, "it has scraped the controller")
	seen := time.Now()

	type ruleState struct {
		Name, Query, Health, LastError string
		LastEvaluation                 time.Time
	}
	var state struct{ Groups []struct{ Rules []ruleState } }
	require.Eventually(t, func() bool {
		prometheus.get(t, "rules", &state)
		if len(state.Groups) != 1 {
			return false
		}
		for _, r := range state.Groups[0].Rules {
			if !r.LastEvaluation.After(seen) {
				return false
			}
		}
		return true
	}, time.Minute, 100*time.Millisecond, "it has evaluated the rules")
	assert.Len(t, state.Groups[0].Rules, len(rules(t)))
	for _, r := range state.Groups[0].Rules {
		assert.Equal(t, "ok", r.Health, "%s: %s", r.Name, r.LastError)
	}

	// What the alert finds once its five minutes are over: each namespace by itself.
	for _, r := range rules(t) {
		if r.Alert != "InformerDegraded" {
			continue
		}
		expression, found := strings.CutSuffix(r.Expr, "> 300")
		require.True(t, found, "its bound")
		watched := map[string]bool{}
		for _, labels := range prometheus.query(t, expression+"> 0") {
			watched[labels["watched_namespace"]] = true
			assert.Equal(t, targetLabels["namespace"], labels["namespace"])
			assert.Equal(t, "forbidden", labels["reason"])
		}
		assert.Equal(t, map[string]bool{"team-a": true, "team-b": true}, watched)
	}
	assert.NotEmpty(t, prometheus.query(t, "workqueue_depth > 0 and workqueue_running == 0"))
	for _, labels := range prometheus.query(t, `{__name__=~"(informer|workqueue|reflector|sharding)_.*"}`) {
		for label := range labels {
			assert.NotContains(t, label, "exported_", "%v", labels)
		}
	}
}

// promtool accepts the rules: it is what people have in their own CI.
func TestPromtoolAcceptsTheRules(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), tool(t, "promtool"), "check", "rules", filepath.Join(folder, "alerts.yaml")).CombinedOutput()
	require.NoError(t, err, "%s", out)
}
