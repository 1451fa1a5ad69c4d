package informertest_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer/informertest"
)

var configmaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

const configmapsPath = "/api/v1/namespaces/default/configmaps"

// faulty is a server in a bubble with three config maps, a, b and c.
type faulty struct {
	*testing.T
	s      *informertest.Server
	client *http.Client
}

func inBubble(t *testing.T, test func(f faulty)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := informertest.Start(t, informertest.Options{InMemory: true})
		client, err := rest.HTTPClientFor(s.Config())
		require.NoError(t, err)
		for _, name := range []string{"a", "b", "c"} {
			require.NoError(t, s.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}))
		}
		test(faulty{t, s, client})
	})
}

// get sends a GET that is answered in any way.
func (f faulty) get(query string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(f.Context(), http.MethodGet, f.s.URL()+configmapsPath+query, nil)
	require.NoError(f, err)
	return f.client.Do(req)
}

// watch reads a watch, from before the config maps on, to its end.
func (f faulty) watch(effect informertest.Effect) (body string, err error) {
	f.Helper()
	f.s.Inject(informertest.Fault{Verb: "watch", Effect: effect})
	resp, err := f.get("?watch=true&timeoutSeconds=60&resourceVersion=" + f.start())
	require.NoError(f, err)
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	return string(content), err
}

// start is the version before the config maps were created.
func (f faulty) start() string {
	a, err := f.s.Get(configmaps, "default", "a")
	require.NoError(f, err)
	n, err := strconv.Atoi(a.GetResourceVersion())
	require.NoError(f, err)
	return strconv.Itoa(n - 1)
}

// names are the types and names of the events in the body of a watch.
func (f faulty) names(body string) (all []string) {
	f.Helper()
	d := json.NewDecoder(strings.NewReader(body))
	for {
		var ev struct {
			Type   string
			Object metav1.PartialObjectMetadata
		}
		if err := d.Decode(&ev); err != nil {
			return all
		}
		all = append(all, ev.Type+" "+ev.Object.Name)
	}
}

func TestFaultsHitTheRequestsTheyChoose(t *testing.T) {
	inBubble(t, func(f faulty) {
		busy := informertest.Refuse(apierrors.NewTooManyRequests("busy", 7))
		f.s.Inject(informertest.Fault{Verb: "list", Resource: "configmaps", Skip: 1, Times: 2, Effect: busy})
		f.s.Inject(informertest.Fault{Resource: "pods", Times: -1, Effect: busy})
		var codes []int
		for range 4 {
			resp, err := f.get("")
			require.NoError(t, err)
			if resp.StatusCode != http.StatusOK {
				assert.Equal(t, "7", resp.Header.Get("Retry-After"))
			}
			codes = append(codes, resp.StatusCode)
			require.NoError(t, resp.Body.Close())
		}
		assert.Equal(t, []int{200, 429, 429, 200}, codes)
	})
}

func TestFaultsAreTakenBack(t *testing.T) {
	inBubble(t, func(f faulty) {
		remove := f.s.Inject(informertest.Fault{Times: -1, Effect: informertest.Respond(502, "text/html", "<html>")})
		resp, err := f.get("")
		require.NoError(t, err)
		content, _ := io.ReadAll(resp.Body)
		require.NoError(t, resp.Body.Close())
		assert.Equal(t, 502, resp.StatusCode)
		assert.Equal(t, "<html>", string(content))
		remove()
		resp, err = f.get("")
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		assert.Equal(t, 200, resp.StatusCode)
	})
}

func TestDropBreaksTheConnectionAndIsNotRepeated(t *testing.T) {
	inBubble(t, func(f faulty) {
		for range 2 { // on a fresh connection and on a used one
			f.s.ResetRequests()
			f.s.Inject(informertest.Fault{Effect: informertest.Drop()})
			_, err := f.get("")
			require.Error(t, err)
			assert.Equal(t, 1, f.s.Count("list", ""))
			resp, err := f.get("")
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
		}
	})
}

func TestDelayAndStallFollowTheClock(t *testing.T) {
	inBubble(t, func(f faulty) {
		started := time.Now()
		f.s.Inject(informertest.Fault{Effect: informertest.Delay(time.Hour)})
		resp, err := f.get("")
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		assert.Equal(t, time.Hour, time.Since(started))

		f.s.Inject(informertest.Fault{Effect: informertest.Stall()})
		f.client.Timeout = time.Minute
		_, err = f.get("")
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

func TestBodiesAreCutAndTruncated(t *testing.T) {
	inBubble(t, func(f faulty) {
		for _, c := range []struct {
			effect informertest.Effect
			err    error
		}{{informertest.CutBody(100), io.ErrUnexpectedEOF}, {informertest.TruncateBody(100), nil}} {
			f.s.Inject(informertest.Fault{Effect: c.effect})
			resp, err := f.get("")
			require.NoError(t, err)
			content, err := io.ReadAll(resp.Body)
			require.NoError(t, resp.Body.Close())
			assert.Equal(t, c.err, err)
			assert.Len(t, content, 100)
		}
	})
}

func TestStreamsEndInEveryWay(t *testing.T) {
	gone := apierrors.NewResourceExpired("gone")
	for name, c := range map[string]struct {
		effect informertest.Effect
		events []string
		broken bool
	}{
		"EndAtOnce":   {informertest.EndWatch(0), nil, false},
		"End":         {informertest.EndWatch(2), []string{"ADDED a", "ADDED b"}, false},
		"Break":       {informertest.BreakWatch(1), []string{"ADDED a"}, true},
		"BreakInside": {informertest.BreakWatchInside(1), []string{"ADDED a"}, true},
		"Truncate":    {informertest.TruncateWatch(1), []string{"ADDED a"}, false},
		"Fail":        {informertest.FailWatch(1, gone), []string{"ADDED a", "ERROR "}, false},
		"Garble":      {informertest.GarbleWatch(1, "}garbage"), []string{"ADDED a"}, false},
		"Replace":     {informertest.ReplaceEvent(1, "STRANGE", `{"metadata":{"name":"x"}}`), []string{"ADDED a", "STRANGE x", "ADDED c"}, false},
		"Duplicate":   {informertest.DuplicateEvents(), []string{"ADDED a", "ADDED a", "ADDED b", "ADDED b", "ADDED c", "ADDED c"}, false},
		"Reorder":     {informertest.ReorderEvents(), []string{"ADDED b", "ADDED a", "ADDED c"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(f faulty) {
				body, err := f.watch(c.effect)
				assert.Equal(t, c.events, f.names(body))
				assert.Equal(t, c.broken, err != nil, "%v", err)
			})
		})
	}
}

func TestAStalledWatchOutlivesItsTimeout(t *testing.T) {
	inBubble(t, func(f faulty) {
		f.client.Timeout = time.Hour
		body, err := f.watch(informertest.StallWatch(2))
		require.Error(t, err)
		assert.Equal(t, []string{"ADDED a", "ADDED b"}, f.names(body))
	})
}

func TestBookmarksAreSwallowed(t *testing.T) {
	inBubble(t, func(f faulty) {
		f.s.Inject(informertest.Fault{Effect: informertest.SwallowBookmarks()})
		resp, err := f.get("?watch=true&timeoutSeconds=300&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan")
		require.NoError(t, err)
		content, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		assert.Equal(t, []string{"ADDED a", "ADDED b", "ADDED c"}, f.names(string(content)))
	})
}

func TestAPausedServerRefusesConnections(t *testing.T) {
	for name, opts := range map[string]informertest.Options{"Loopback": {}, "InMemory": {InMemory: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := informertest.Start(t, opts)
			w, err := core(t, s).Get().Resource("pods").Param("watch", "true").Stream(t.Context())
			require.NoError(t, err)
			require.NoError(t, s.Pause())
			require.NoError(t, s.Pause(), "twice is once")
			_, err = io.ReadAll(w)
			require.Error(t, err, "connections are broken")
			err = core(t, s).Get().Resource("pods").MaxRetries(0).Do(t.Context()).Error()
			assert.True(t, utilnet.IsConnectionRefused(err), "%v", err)
			require.NoError(t, s.Resume())
			require.NoError(t, core(t, s).Get().Resource("pods").Do(t.Context()).Error())
		})
	}
}

func TestARestartForgetsTheHistory(t *testing.T) {
	inBubble(t, func(f faulty) {
		start := f.start()
		f.s.Restart()
		resp, err := f.get("?watch=true&resourceVersion=" + start)
		require.NoError(t, err)
		content, _ := io.ReadAll(resp.Body)
		require.NoError(t, resp.Body.Close())
		assert.Contains(t, string(content), `"code":410`)
	})
}

func TestANewHistoryKeepsObjectsAndStartsTheirVersionsFromScratch(t *testing.T) {
	inBubble(t, func(f faulty) {
		for range 50 {
			require.NoError(t, f.s.Modify(configmaps, "default", "b", func(u *unstructuredObject) {
				u.SetAnnotations(map[string]string{"n": strconv.Itoa(len(u.GetResourceVersion())) + u.GetResourceVersion()})
			}))
		}
		before, err := f.s.Get(configmaps, "default", "b")
		require.NoError(t, err)
		require.NoError(t, f.s.RestartWithNewHistory())
		after, err := f.s.Get(configmaps, "default", "b")
		require.NoError(t, err)
		assert.Equal(t, before.GetUID(), after.GetUID())
		assert.Less(t, atoi(t, after.GetResourceVersion()), atoi(t, before.GetResourceVersion()))
		resp, err := f.get("?resourceVersion=" + before.GetResourceVersion())
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		assert.Equal(t, http.StatusGatewayTimeout, resp.StatusCode, "it lies in the future")
	})
}

func TestChaosIsSeededAndEnds(t *testing.T) {
	run := func(seed uint64) (outcomes []string) {
		inBubble(t, func(f faulty) {
			f.client.Timeout = time.Minute
			stop := f.s.InjectChaos(informertest.Chaos{Seed: seed, Rate: 0.7, Stalls: true})
			for range 30 {
				outcomes = append(outcomes, f.outcome())
			}
			stop()
			assert.Equal(t, "200", f.outcome())
		})
		return outcomes
	}
	first := run(1)
	assert.Equal(t, first, run(1))
	assert.NotEqual(t, first, run(2))
	assert.Contains(t, first, "200")
	assert.Contains(t, first, "500")
}

// outcome lists once and says in a word what happened.
func (f faulty) outcome() string {
	resp, err := f.get("")
	if err != nil {
		return "failed"
	}
	defer resp.Body.Close()
	if _, err := io.ReadAll(resp.Body); err != nil {
		return "broken"
	}
	return strconv.Itoa(resp.StatusCode)
}

func atoi(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	require.NoError(t, err)
	return n
}
