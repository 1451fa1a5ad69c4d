package inspect_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/audit"
	"github.com/informerkit/informerkit/informer/health"
	"github.com/informerkit/informerkit/informer/inspect"
	"github.com/informerkit/informerkit/informer/sharding"
	"github.com/informerkit/informerkit/reflector"
	"github.com/informerkit/informerkit/workqueue"
	"github.com/informerkit/informerkit/workqueue/history"
)

// everything shows each field at least once.
func everything(t *testing.T) *inspect.Handler {
	ago := func(d time.Duration) time.Time { return time.Now().Add(-d) }
	pods := stubInformer{
		Name: "pods", Synced: true, SyncedAfter: 120 * time.Millisecond, Objects: 1200, ResourceVersion: "4711", Events: 5310,
		Sources: []informer.SourceHealth{
			{Namespace: "prod", Selector: "labels app=web", Queued: 3, Reflector: reflector.Health{
				State: reflector.StateDegraded, Since: ago(2 * time.Second), Synced: true, LastSync: ago(time.Hour), LastEvent: ago(time.Minute),
				ResourceVersion: "4711", ConsecutiveFailures: 4, DegradedSince: ago(9 * time.Second), NextAttempt: ago(-500 * time.Millisecond),
				LastError: errors.New("cannot watch pods at https://10.0.0.1: connection refused"), LastErrorClass: reflector.ClassRefused, LastErrorTime: ago(2 * time.Second),
				Lists: 1, WatchLists: 2, Watches: 7, Reconnects: map[reflector.ErrorClass]int{"closed": 6, reflector.ClassRefused: 4},
				Quarantined: 3, Quarantine: []*reflector.ObjectError{{Key: key{Namespace: "prod", Name: "odd"}, Class: reflector.ClassDecode}},
				Monitor: audit.Health{
					Interval: time.Hour, Last: ago(90 * time.Minute), Audits: 24, Objects: 1200, Missing: 2, Extra: 1, Stale: 1, Repaired: 3, Lasting: 1,
					LastError: errors.New("no answer in time"), LastErrorTime: ago(30 * time.Minute),
				},
			}},
			{Namespace: "dev", Reflector: reflector.Health{State: reflector.StateNew}},
		},
		OverdueWrites: 2,
		Handlers: []informer.HandlerHealth{
			{Name: "enqueue", Synced: true, Delivered: 5310},
			{
				Name: "slow", Lag: 17, LagAge: 15 * time.Second, CatchingUp: true, Delivered: 9, Overflows: 2, Panics: 1, LastPanicTime: ago(time.Second),
				LastPanic: &informer.HandlerPanic{Type: informer.Updated, Key: key{Namespace: "prod", Name: "web"}, Value: "oh"},
			},
		},
	}
	nodes := stubInformer{Name: "nodes", Stopped: true}
	halves := sharding.SplitHashes(4)
	shards := stubInformer{
		Name: "shards", Synced: true, Objects: 300, ResourceVersion: "4711",
		Sources: []informer.SourceHealth{{
			FilteredBy: informer.FilteredByClient, Outside: 900,
			Reflector: reflector.Health{State: reflector.StateWatching, Since: ago(time.Minute), Synced: true, LastEvent: ago(time.Second)},
		}},
		Parts: []informer.PartHealth{{Name: halves[0].String(), Synced: true}, {Name: halves[2].String()}}, PartsOf: "HashUID",
	}
	secrets := stubInformer{Name: "secrets", Synced: true, Objects: 3, ResourceVersion: "4700", Sources: []informer.SourceHealth{{Reflector: reflector.Health{
		State: reflector.StateDegraded, Since: ago(time.Second), Synced: true, DegradedSince: ago(8 * time.Second),
		LastError: errors.New("cannot watch secrets at https://10.0.0.1: connection refused"), LastErrorClass: reflector.ClassRefused, LastErrorTime: ago(time.Second),
	}}}}
	replica := stubReplica{
		Name: "controller", Parts: 4, Identity: "pod-1", Session: "pod-1-3f9a01c2", State: health.ReplicaMember, Sessions: 2, Quota: 1, Free: 1,
		Held: []health.Part{{Part: 0, Working: true, Since: ago(time.Hour)}, {Part: 2, Working: true, Draining: true, Since: ago(12 * time.Second)}},
		Replicas: []health.Member{
			{Session: "pod-1-3f9a01c2", Held: 2, Seen: ago(time.Second)},
			{Session: "pod-2-77b0e4d1", Held: 1, Leaving: true, Seen: ago(2 * time.Second)},
		},
		LastRenewal: ago(6 * time.Second), Deadline: ago(-4 * time.Second), Took: 7, Gave: 4, Lost: 1,
		LastError: apierrors.NewForbidden(schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}, "", errors.New("no rights")), LastErrorTime: ago(5 * time.Second),
		Leases: informer.Health{Sources: []informer.SourceHealth{{Reflector: reflector.Health{State: reflector.StateWatching, Since: ago(time.Hour), Synced: true}}}},
	}
	leader := stubReplica{
		Name: "elected", Parts: 1, Identity: "pod-1", Session: "pod-1-00000001", State: health.ReplicaMember, Sessions: 1,
		Replicas:    []health.Member{{Session: "pod-1-00000001", Seen: ago(time.Second)}, {Session: "pod-3-00000002", Held: 1, Seen: ago(time.Second)}},
		LastRenewal: ago(time.Second), Deadline: ago(-9 * time.Second),
	}
	queue := stubQueue[key]{Inspection: workqueue.Inspection[key]{
		Name: "pods", ShuttingDown: true,
		Stats: workqueue.Stats{
			Queued: 25, Again: 1, Delayed: 1, Parked: 1, Running: 1, Added: 5336, Retried: 4, Dropped: 2, ParkTimeouts: 6, ShutdownLosses: 3,
			UnfinishedWork: 3 * time.Second, LongestRunning: 3 * time.Second,
		},
		PriorityClasses: []workqueue.PriorityClassInspection{{Queued: 24, Groups: 2}, {MaxWait: time.Minute, Queued: 1, Groups: 1, QueuedSince: ago(70 * time.Second)}},
		Timed:           true,
		Queued: []workqueue.Item[key]{
			{Item: key{Namespace: "prod", Name: "web"}, Group: "prod", QueuedSince: ago(200 * time.Millisecond)},
			{Item: key{Name: "cluster-scoped"}, PriorityClass: 1, Group: "other", Retries: 2, QueuedSince: ago(70 * time.Second)},
		},
		Running: []workqueue.Item[key]{{Item: key{Namespace: "prod", Name: "db"}, Group: "prod", Again: true, RunningSince: ago(3 * time.Second), QueuedSince: ago(time.Second)}},
		Delayed: []workqueue.Item[key]{{Item: key{Namespace: "prod", Name: "later"}, Group: "prod", Retries: 5, DelayedUntil: ago(-90 * time.Second)}},
		Parked:  []workqueue.Item[key]{{Item: key{Namespace: "prod", Name: "written"}, Group: "prod", ParkedUntil: ago(-30 * time.Second), Until: seen}},
	}}
	unnamed := stubQueue[string]{}
	r := recalling("pods",
		history.Failure{Key: history.Key{Namespace: "prod", Name: "later"}, Attempts: 5, Err: errors.New("no quota"), Time: ago(time.Second), Action: workqueue.Retried, NextAttempt: ago(-90 * time.Second)},
		history.Failure{Key: history.Key{Namespace: "prod", Name: "broken"}, Attempts: 1, Err: errors.New("no use"), Time: ago(time.Minute), Action: workqueue.Dropped},
	)
	return newHandlerWith(t, r, inspect.Queue(queue), inspect.Informer(pods), inspect.Queue(unnamed), inspect.Informer(nodes),
		inspect.Informer(shards), inspect.Informer(secrets), inspect.Replica(replica), inspect.Replica(leader))
}

// golden compares got with a file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), got, "go test ./informer/inspect -update writes the file again")
}

func TestShapeOfTheJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		require.Equal(t, epoch, time.Now().UTC())
		got := ask(everything(t), http.MethodGet, "/?format=json", nil).Body.String()
		golden(t, "everything.json", got)

		documented(t, "## The JSON\n", got, "refused") // a class, not a field
	})
}

// documented checks that a section of README.md has the fields of a JSON, besides those
// that are names of something else.
func documented(t *testing.T, section, got string, others ...string) {
	t.Helper()
	doc, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, text, found := strings.Cut(string(doc), section)
	require.True(t, found)
	text, _, found = strings.Cut(text, "\n## ")
	require.True(t, found)
	fieldsOf := func(text string) map[string]bool {
		all := map[string]bool{}
		for _, m := range regexp.MustCompile(`"(\w+)":`).FindAllStringSubmatch(text, -1) {
			if !slices.Contains(others, m[1]) {
				all[m[1]] = true
			}
		}
		return all
	}
	assert.Equal(t, fieldsOf(text), fieldsOf(got), "the documentation and the JSON have the same fields")
}

func TestShapeOfThePage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { golden(t, "everything.html", page(t, everything(t))) })
}

func TestShapeOfTheText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { golden(t, "everything.txt", textOf(t, everything(t))) })
}
