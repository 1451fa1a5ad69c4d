package controller

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/exampletest"
	"github.com/informerkit/informerkit/examples/replicaset/api"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/controller"
	"github.com/informerkit/informerkit/informer/informertest"
)

func TestMain(m *testing.M) { exampletest.Main(m) }

// bench runs the controller on an API server in a bubble, in which time passes
// only when all goroutines wait: settle returns when the controller has nothing
// left to do.
type bench struct {
	*testing.T
	server *informertest.Server
	c      *Controller
	log    *exampletest.Watcher
	seen   int // of the log
	ran    chan error
	stop   context.CancelFunc
}

// inBubble runs test with a controller at work. tweak may change the
// configuration of the controller's client.
func inBubble(t *testing.T, tweak func(*rest.Config), test func(b *bench)) {
	synctest.Test(t, func(t *testing.T) {
		server, err := informertest.NewServer(informertest.Options{
			InMemory: true,
			Resources: []informertest.Resource{{
				Group: api.Group, Versions: []string{api.Version}, Plural: api.Resource, Kind: api.Kind, StatusSubresource: true,
			}},
		})
		require.NoError(t, err)
		defer server.Close()
		cfg := rest.CopyConfig(server.Config())
		if tweak != nil {
			tweak(cfg)
		}
		b := &bench{T: t, server: server, log: &exampletest.Watcher{}, ran: make(chan error, 1)}
		b.c = New(controller.Options{Config: cfg, Workers: 2, Logger: slog.New(slog.NewTextHandler(b.log, nil))})
		ctx, stop := context.WithCancel(t.Context())
		b.stop = stop
		go func() { b.ran <- b.c.Run(ctx) }()
		b.settle()
		test(b)
		stop()
		require.NoError(t, <-b.ran)
	})
}

// settle waits until nothing more happens without the clock, and for the short
// delays of retries.
func (b *bench) settle() {
	b.Helper()
	for range 10 {
		exampletest.Pass(10 * time.Millisecond)
	}
}

func (b *bench) create(obj client.Object) {
	b.Helper()
	require.NoError(b, b.server.Create(obj))
	b.settle()
}

// pods returns the pods that a set controls, by name.
func (b *bench) pods(owner types.UID) (pods []*corev1.Pod) {
	b.Helper()
	all, err := b.server.List(podResource, "default", nil)
	require.NoError(b, err)
	for _, u := range all {
		pod := &corev1.Pod{}
		raw, err := json.Marshal(u)
		require.NoError(b, err)
		require.NoError(b, json.Unmarshal(raw, pod))
		if ref := metav1.GetControllerOf(pod); ref == nil && owner == "" || ref != nil && ref.UID == owner {
			pods = append(pods, pod)
		}
	}
	return pods
}

func (b *bench) set(name string) *api.ReplicaSet {
	b.Helper()
	u, err := b.server.Get(api.GroupVersionResource, "default", name)
	require.NoError(b, err)
	raw, err := json.Marshal(u)
	require.NoError(b, err)
	set := &api.ReplicaSet{}
	require.NoError(b, json.Unmarshal(raw, set))
	return set
}

// actions returns what the controller has done since the last call, as its log has it.
func (b *bench) actions() (out []string) {
	all := b.log.String()
	for line := range strings.Lines(all[b.seen:]) {
		if _, action, ok := strings.Cut(line, `msg="the controller has acted on a pod" action=`); ok {
			out = append(out, strings.Fields(action)[0])
		}
	}
	b.seen = len(all)
	return out
}

func (b *bench) scale(name string, replicas int64) {
	b.Helper()
	require.NoError(b, b.server.Modify(api.GroupVersionResource, "default", name, func(u *unstructured.Unstructured) {
		require.NoError(b, unstructured.SetNestedField(u.Object, replicas, "spec", "replicas"))
	}))
	b.settle()
}

func newSet(name string, replicas int32) *api.ReplicaSet {
	set := testSet(replicas)
	set.TypeMeta = metav1.TypeMeta{APIVersion: api.GroupVersion.String(), Kind: api.Kind}
	set.ObjectMeta = metav1.ObjectMeta{Namespace: "default", Name: name}
	return set
}

func newOrphan(name string, labels map[string]string) *corev1.Pod {
	pod := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{api.Label: api.LabelValue}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	for k, v := range labels {
		pod.Labels[k] = v
	}
	return pod
}

func TestSetGetsExactlyItsPods(t *testing.T) {
	inBubble(t, nil, func(b *bench) {
		b.create(newSet("web", 7))
		set := b.set("web")
		assert.Len(b, b.pods(set.UID), 7)
		assert.Equal(b, slices.Repeat([]string{created}, 7), b.actions(), "none was created twice, none deleted")
		assert.EqualValues(b, 7, set.Status.Replicas)
		assert.Equal(b, set.Generation, set.Status.ObservedGeneration)

		b.scale("web", 2)
		assert.Len(b, b.pods(set.UID), 2)
		assert.Equal(b, slices.Repeat([]string{deleted}, 5), b.actions())

		b.scale("web", 0)
		assert.Empty(b, b.pods(set.UID))
		assert.EqualValues(b, 0, b.set("web").Status.Replicas)
		assert.NotContains(b, b.log.String(), "level=WARN", "the controller does not stumble over its own writes")
	})
}

func TestPodThatDisappearsIsReplaced(t *testing.T) {
	inBubble(t, nil, func(b *bench) {
		b.create(newSet("web", 3))
		set := b.set("web")
		b.actions()
		victim := b.pods(set.UID)[1]
		require.NoError(b, b.server.Delete(podResource, "default", victim.Name))
		b.settle()
		assert.Len(b, b.pods(set.UID), 3)
		assert.Equal(b, []string{created}, b.actions())
	})
}

func TestFinishedPodIsReplacedAndLeftAlone(t *testing.T) {
	inBubble(t, nil, func(b *bench) {
		b.create(newSet("web", 2))
		set := b.set("web")
		b.actions()
		failed := b.pods(set.UID)[0].Name
		require.NoError(b, b.server.Modify(podResource, "default", failed, func(u *unstructured.Unstructured) {
			require.NoError(b, unstructured.SetNestedField(u.Object, "Failed", "status", "phase"))
		}))
		b.settle()
		assert.Len(b, b.pods(set.UID), 3)
		assert.Equal(b, []string{created}, b.actions())
	})
}

func TestMatchingOrphanIsAdopted(t *testing.T) {
	inBubble(t, nil, func(b *bench) {
		b.create(newOrphan("stray", map[string]string{"app": "web"}))
		b.create(newOrphan("other", map[string]string{"app": "db"}))
		b.create(newSet("web", 2))
		set := b.set("web")
		assert.Equal(b, []string{adopted, created}, b.actions())
		assert.Len(b, b.pods(set.UID), 2)
		orphans := b.pods("")
		require.Len(b, orphans, 1)
		assert.Equal(b, "other", orphans[0].Name)

		b.create(newOrphan("one-too-many", map[string]string{"app": "web"}))
		assert.Equal(b, []string{adopted, deleted}, b.actions())
		assert.Len(b, b.pods(set.UID), 2)
	})
}

func TestOrphanIsAdoptedOnceItMatches(t *testing.T) {
	inBubble(t, nil, func(b *bench) {
		b.create(newSet("web", 1))
		b.create(newOrphan("stray", map[string]string{"app": "db"}))
		assert.Equal(b, []string{created}, b.actions())
		require.NoError(b, b.server.Modify(podResource, "default", "stray", func(u *unstructured.Unstructured) {
			u.SetLabels(map[string]string{"app": "web", api.Label: api.LabelValue})
		}))
		b.settle()
		assert.Equal(b, []string{adopted, deleted}, b.actions(), "adopted, and one too many")
		assert.Empty(b, b.pods(""))
	})
}

// Another client removes a pod's owner reference, and with it the only key to enqueue.
func TestPodThatLostItsOwnerIsOfferedToOthers(t *testing.T) {
	inBubble(t, nil, func(b *bench) {
		pod := newOrphan("theirs", map[string]string{"app": "web"})
		yes := true
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "other", UID: "other", Controller: &yes}}
		b.create(pod)
		b.create(newSet("web", 1))
		assert.Equal(b, []string{created}, b.actions())
		require.NoError(b, b.server.Modify(podResource, "default", "theirs", func(u *unstructured.Unstructured) { u.SetOwnerReferences(nil) }))
		b.settle()
		assert.Equal(b, []string{adopted, deleted}, b.actions())
	})
}

func TestPodOfAnotherControllerIsNotTouched(t *testing.T) {
	inBubble(t, nil, func(b *bench) {
		pod := newOrphan("theirs", map[string]string{"app": "web"})
		yes := true
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "other", Controller: &yes}}
		b.create(pod)
		b.create(newSet("web", 1))
		assert.Equal(b, []string{created}, b.actions())
		assert.Len(b, b.pods("other"), 1)
	})
}

func TestRelabelledPodIsReleasedAndReplaced(t *testing.T) {
	inBubble(t, nil, func(b *bench) {
		b.create(newSet("web", 2))
		set := b.set("web")
		b.actions()
		name := b.pods(set.UID)[0].Name
		require.NoError(b, b.server.Modify(podResource, "default", name, func(u *unstructured.Unstructured) {
			u.SetLabels(map[string]string{"app": "debugging", api.Label: api.LabelValue})
		}))
		b.settle()
		assert.Equal(b, []string{released, created}, b.actions())
		assert.Len(b, b.pods(set.UID), 2)
		orphans := b.pods("")
		require.Len(b, orphans, 1)
		assert.Equal(b, name, orphans[0].Name)
	})
}

func TestSetThatCannotBeServedMakesNoPodsAndSaysWhy(t *testing.T) {
	inBubble(t, nil, func(b *bench) {
		set := newSet("web", 3)
		set.Spec.Template.Labels = map[string]string{"app": "db"}
		b.create(set)
		assert.Empty(b, b.actions())
		assert.Contains(b, b.log.String(), "does not match the labels of spec.template")
	})
}

// refusing refuses POSTs while it is on, and counts them, for all clients of a
// configuration.
type refusing struct {
	mu sync.Mutex
	on bool
	n  int
}

func (r *refusing) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		if req.Method == http.MethodPost && r.refuses() {
			return nil, errors.New("exceeded quota")
		}
		return next.RoundTrip(req)
	})
}

func (r *refusing) refuses() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.on {
		r.n++
	}
	return r.on
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func TestRefusedCreateIsTriedOnceAndAgainLater(t *testing.T) {
	quota := &refusing{on: true}
	inBubble(t, func(cfg *rest.Config) {
		cfg.Wrap(quota.wrap)
	}, func(b *bench) {
		b.create(newSet("web", 100))
		quota.mu.Lock()
		asked := quota.n
		quota.on = false
		quota.mu.Unlock()
		assert.Less(b, asked, 10, "one request per attempt, not one per pod")
		assert.Positive(b, asked)
		assert.Contains(b, b.log.String(), "exceeded quota")

		exampletest.Pass(time.Second) // the backoff by now
		b.settle()
		assert.Len(b, b.pods(b.set("web").UID), 100)
	})
}

func TestAvailabilityIsReportedWhenItsTimeHasCome(t *testing.T) {
	inBubble(t, nil, func(b *bench) {
		set := newSet("web", 1)
		set.Spec.MinReadySeconds = 30
		b.create(set)
		pod := b.pods(b.set("web").UID)[0]
		require.NoError(b, b.server.Modify(podResource, "default", pod.Name, func(u *unstructured.Unstructured) {
			require.NoError(b, unstructured.SetNestedField(u.Object, map[string]any{
				"phase": "Running",
				"conditions": []any{map[string]any{
					"type": "Ready", "status": "True", "lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
				}},
			}, "status"))
		}))
		b.settle()
		assert.EqualValues(b, 1, b.set("web").Status.ReadyReplicas)
		assert.EqualValues(b, 0, b.set("web").Status.AvailableReplicas)
		exampletest.Pass(30 * time.Second) // no event is delivered at this time
		b.settle()
		assert.EqualValues(b, 1, b.set("web").Status.AvailableReplicas)
	})
}

func TestManySetsConvergeTogether(t *testing.T) {
	inBubble(t, nil, func(b *bench) {
		names := strings.Fields("a b c d e f g h i j k l")
		for _, name := range names {
			set := newSet(name, 5)
			set.Spec.Selector.MatchLabels = map[string]string{"app": name}
			set.Spec.Template.Labels = map[string]string{"app": name}
			require.NoError(b, b.server.Create(set))
		}
		b.settle()
		for _, name := range names {
			set := b.set(name)
			assert.Len(b, b.pods(set.UID), 5, name)
			assert.EqualValues(b, 5, set.Status.Replicas, name)
		}
		assert.Len(b, b.actions(), 5*len(names))
	})
}

func TestSecondRunIsRefused(t *testing.T) {
	inBubble(t, nil, func(b *bench) {
		assert.ErrorIs(b, b.c.Run(b.Context()), informer.ErrRunning)
	})
}
