package e2e

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/replicaset/api"
	"github.com/informerkit/informerkit/examples/replicaset/controller"
	"github.com/informerkit/informerkit/examples/replicaset/scenario"
	"github.com/informerkit/informerkit/internal/restclient"
)

// The story that `go run ./examples/replicaset -once` plays on the embedded
// server, on a real one. Its node and its garbage collector are stand-ins, since
// a control plane without nodes has neither.
func TestReplicaSetScenarioConverges(t *testing.T) {
	cp := shared(t)
	namespace := newNamespace(t, clientFor(t, cp))
	require.NoError(t, scenario.Install(t.Context(), cp.Config()))

	var mu sync.Mutex
	var told strings.Builder
	err := scenario.Play(t.Context(), cp.Config(), scenario.Options{
		Namespace: namespace,
		Patience:  time.Minute,
		Say: func(who, format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			fmt.Fprintf(&told, "%-10s %s\n", who, fmt.Sprintf(format, args...))
		},
		Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	require.NoError(t, err, told.String())
	assert.Equal(t, 6, strings.Count(told.String(), "controller created"), told.String())
	assert.Equal(t, 3, strings.Count(told.String(), "controller deleted"), told.String())
}

// Many sets are scaled and their pods deleted, by several writers at once and
// while the controller is replaced by another one; then each set has what it
// asks for, by the server's own word, and no pod is left over.
func TestReplicaSetControllerConvergesAfterChaos(t *testing.T) {
	cp := shared(t)
	client := clientFor(t, cp)
	namespace := newNamespace(t, client)
	require.NoError(t, scenario.Install(t.Context(), cp.Config()))
	s := *seed
	if s == 0 {
		s = uint64(time.Now().UnixNano())
	}
	t.Logf("chaos with -seed=%d", s)

	scheme := runtime.NewScheme()
	require.NoError(t, api.AddToScheme(scheme))
	sets, err := restclient.New[*api.ReplicaSet](cp.Config(), api.GroupVersionResource, scheme)
	require.NoError(t, err)

	stop := runController(t, cp.Config(), namespace)
	const count = 8
	for i := range count {
		createSet(t, sets, namespace, setName(i), 5)
	}
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() { chaos(t, rand.New(rand.NewPCG(s, uint64(w))), client, sets, namespace, count, 60) })
	}
	writers.Wait()
	stop()
	stop = runController(t, cp.Config(), namespace)
	defer stop()

	require.EventuallyWithT(t, func(c *assert.CollectT) {
		pods, err := client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
		require.NoError(c, err)
		owned := map[types.UID]int{}
		for i := range pods.Items {
			ref := metav1.GetControllerOf(&pods.Items[i])
			require.NotNil(c, ref)
			owned[ref.UID]++
		}
		total := 0
		for i := range count {
			set, err := sets.Get(t.Context(), types.NamespacedName{Namespace: namespace, Name: setName(i)})
			require.NoError(c, err)
			assert.Equal(c, set.Replicas(), owned[set.UID], set.Name)
			assert.EqualValues(c, set.Replicas(), set.Status.Replicas, set.Name)
			assert.Equal(c, set.Generation, set.Status.ObservedGeneration, set.Name)
			total += set.Replicas()
		}
		assert.Len(c, pods.Items, total, "no pod is left over")
	}, time.Minute, 200*time.Millisecond)
}

// runController starts the example's controller and returns what stops it.
func runController(t *testing.T, cfg *rest.Config, namespace string) (stop func()) {
	t.Helper()
	c, err := controller.New(cfg, controller.Options{
		Namespace: namespace, Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx, 4) }()
	return func() {
		cancel()
		assert.ErrorIs(t, <-ended, context.Canceled)
	}
}

func setName(i int) string { return fmt.Sprintf("set-%d", i) }

func createSet(t *testing.T, sets *restclient.Client[*api.ReplicaSet], namespace, name string, replicas int32) {
	t.Helper()
	labels := map[string]string{"app": name}
	_, err := sets.Create(t.Context(), &api.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "registry.k8s.io/pause:3.10"}}},
			},
		},
	})
	require.NoError(t, err)
}

// chaos scales sets and deletes pods at random.
func chaos(t *testing.T, r *rand.Rand, client kubernetes.Interface, sets *restclient.Client[*api.ReplicaSet], namespace string, count, steps int) {
	for range steps {
		if r.IntN(2) == 0 {
			key := types.NamespacedName{Namespace: namespace, Name: setName(r.IntN(count))}
			_, err := sets.Patch(t.Context(), key, types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, r.IntN(12)))
			assert.NoError(t, err)
			continue
		}
		pods, err := client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
		if !assert.NoError(t, err) || len(pods.Items) == 0 {
			continue
		}
		victim := pods.Items[r.IntN(len(pods.Items))].Name
		if err := client.CoreV1().Pods(namespace).Delete(t.Context(), victim, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
			assert.NoError(t, err)
		}
	}
}
