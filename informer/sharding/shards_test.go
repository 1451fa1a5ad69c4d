package sharding_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
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

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/sharding"
	"github.com/informerkit/informerkit/reflector"
	"github.com/informerkit/informerkit/workqueue"
)

var configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")

// Three replicas share 1,000 objects in 16 parts. One is killed and two are added, while
// objects change: no object is reconciled by two replicas at once, and none is missed.
func TestShardsOfAController(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const objects = 1000
		server, err := informertest.NewServer(informertest.Options{InMemory: true})
		require.NoError(t, err)
		defer server.Close()
		name := func(i int) string { return fmt.Sprint("object-", i) }
		for i := range objects {
			require.NoError(t, server.Create(&corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name(i)}, Data: map[string]string{"version": "0"},
			}))
		}
		l := &ledger{working: map[types.NamespacedName]string{}, done: map[types.NamespacedName]string{}, by: map[string]int{}}
		want := map[types.NamespacedName]string{}
		for i := range objects {
			want[types.NamespacedName{Namespace: "default", Name: name(i)}] = "0"
		}
		version := 0
		change := func() {
			for range 100 {
				version++
				i := version * 7919 % objects
				require.NoError(t, server.Modify(configMaps, "default", name(i), func(u *unstructured.Unstructured) {
					require.NoError(t, unstructured.SetNestedField(u.Object, fmt.Sprint(version), "data", "version"))
				}))
				want[types.NamespacedName{Namespace: "default", Name: name(i)}] = fmt.Sprint(version)
			}
			time.Sleep(time.Second)
		}
		var all []*shard
		for i := range 3 {
			all = append(all, startShard(t, server, l, fmt.Sprint("replica-", i)))
		}
		time.Sleep(30 * time.Second)
		change()
		for _, s := range all {
			assert.InDelta(t, 16.0/3, len(s.replica.Health().Held), 1)
			assert.Greater(t, l.count(s.name), 150, "%s has its share of the work", s.name)
		}
		all[0].dead.Store(true)
		change()
		for i := 3; i < 5; i++ {
			all = append(all, startShard(t, server, l, fmt.Sprint("replica-", i)))
			change()
		}
		time.Sleep(time.Minute)
		change()
		time.Sleep(time.Minute)
		synctest.Wait()
		for _, s := range all[1:] {
			assert.Len(t, s.replica.Health().Held, 4)
		}
		l.mu.Lock()
		assert.Empty(t, l.double, "objects that two replicas worked on at once")
		assert.Equal(t, want, l.done, "the version of each object, and the one that was reconciled last")
		l.mu.Unlock()
		for _, s := range all {
			s.stop()
			require.NoError(t, <-s.ended)
		}
	})
}

// ledger notes who works on what.
type ledger struct {
	mu      sync.Mutex
	working map[types.NamespacedName]string
	double  []string
	done    map[types.NamespacedName]string
	by      map[string]int
}

// count returns how many objects a replica has reconciled.
func (l *ledger) count(replica string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.by[replica]
}

// shard is a process with a controller.
type shard struct {
	name    string
	ledger  *ledger
	dead    atomic.Bool
	replica *sharding.Replica
	objects *informer.Informer[*corev1.ConfigMap]
	stop    context.CancelFunc
	ended   chan error
}

func startShard(t *testing.T, server *informertest.Server, l *ledger, name string) *shard {
	t.Helper()
	s := &shard{name: name, ledger: l, ended: make(chan error, 1)}
	cfg := rest.CopyConfig(server.Config())
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			if s.dead.Load() {
				return nil, errors.New("this process was killed")
			}
			return next.RoundTrip(request)
		})
	})
	silent := slog.New(slog.DiscardHandler)
	source, err := reflector.NewResource[*corev1.ConfigMap](cfg, configMaps, reflector.ResourceOptions{})
	require.NoError(t, err)
	s.objects, err = informer.New(source, informer.Options[*corev1.ConfigMap]{Logger: silent})
	require.NoError(t, err)
	s.replica, err = sharding.New(cfg, sharding.Options{
		Name: "controller", Namespace: "default", Identity: name, Parts: 16, Work: s.work, Logger: silent,
	})
	require.NoError(t, err)
	group, err := informer.NewGroup(s.objects)
	require.NoError(t, err)
	var ctx context.Context
	ctx, s.stop = context.WithCancel(t.Context())
	go func() { s.ended <- group.Run(ctx, s.replica.Run) }()
	return s
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// work processes the objects of one part.
func (s *shard) work(ctx context.Context, part *sharding.Part) error {
	queue := workqueue.NewRateLimiting[types.NamespacedName](nil, workqueue.Options[types.NamespacedName]{})
	mine := func(c *corev1.ConfigMap) bool {
		h := fnv.New64a()
		_, _ = h.Write([]byte(c.UID))
		return int(h.Sum64()%uint64(part.Parts)) == part.Index
	}
	handler, err := s.objects.AddHandler(informer.FilterHandler(mine, informer.EnqueueKey[*corev1.ConfigMap](queue)))
	if err != nil {
		return err
	}
	defer handler.Remove()
	err = workqueue.ProcessWith(ctx, queue, workqueue.ProcessOptions[types.NamespacedName]{
		Workers: 2, StopTimeout: 5 * time.Second, Logger: slog.New(slog.DiscardHandler),
	}, sharding.Guard(part, s.reconcile))
	return err
}

func (s *shard) reconcile(ctx context.Context, key types.NamespacedName) (workqueue.Result, error) {
	c, err := s.objects.Lister().Get(key)
	if err != nil {
		return workqueue.Result{}, err
	}
	l := s.ledger
	l.mu.Lock()
	if s.dead.Load() {
		l.mu.Unlock()
		return workqueue.Result{}, nil
	}
	if other := l.working[key]; other != "" {
		l.double = append(l.double, fmt.Sprint(key, " by ", other, " and ", s.name))
	}
	l.working[key] = s.name
	l.by[s.name]++
	l.mu.Unlock()
	select {
	case <-ctx.Done():
	case <-time.After(20 * time.Millisecond):
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.working, key)
	if s.dead.Load() || ctx.Err() != nil {
		return workqueue.Result{}, context.Cause(ctx)
	}
	l.done[key] = c.Data["version"]
	return workqueue.Result{}, nil
}
