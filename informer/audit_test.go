package informer_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/audit"
	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/intern"
	"github.com/informerkit/informerkit/informer/sharding"
	"github.com/informerkit/informerkit/internal/verify/scripted"
	"github.com/informerkit/informerkit/reflector"
)

// auditOf returns what the audits of an informer with one source have found.
func auditOf(h informer.Health) audit.Health {
	found, _ := audit.HealthOf(&h.Sources[0].Reflector)
	return found
}

// auditHeals restores the server of a factory from a backup, lets the new history pass
// the version that the informer has, and waits for one audit.
func auditHeals[T informer.Object](t *testing.T, opts informer.FactoryOptions, forOpts informer.ForOptions[T]) {
	t.Helper()
	t.Run(fmt.Sprintf("%T", *new(T)), func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			configMaps := corev1.SchemeGroupVersion.WithResource("configmaps")
			server := informertest.Start(t, informertest.Options{InMemory: true, Scheme: scripted.CoreTypes()})
			create := func(name string) {
				require.NoError(t, server.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}))
			}
			version := func() int {
				v, err := strconv.Atoi(server.ResourceVersion())
				require.NoError(t, err)
				return v
			}
			for _, name := range []string{"busy", "deleted", "kept"} {
				create(name)
			}
			opts.Scheme = runtime.NewScheme()
			require.NoError(t, corev1.AddToScheme(opts.Scheme))
			opts.Reflector.Monitor = audit.Every(time.Hour)
			f, err := informer.NewFactory(server.Config(), opts)
			require.NoError(t, err)
			inf, err := informer.For(f, forOpts)
			require.NoError(t, err)
			var mu sync.Mutex
			var seen []string
			note := func(what string, o T) {
				mu.Lock()
				defer mu.Unlock()
				seen = append(seen, what+o.GetName())
			}
			events := func() []string { // since the call before
				mu.Lock()
				defer mu.Unlock()
				before := seen
				seen = nil
				return before
			}
			_, err = inf.AddHandler(informer.HandlerFuncs[T]{
				AddFunc:    func(o T, _ bool) { note("add ", o) },
				DeleteFunc: func(o T) { note("delete ", o) },
			})
			require.NoError(t, err)
			f.Start(t.Context())
			time.Sleep(time.Minute)
			synctest.Wait()
			require.Len(t, events(), 3)

			remembered := version()
			require.NoError(t, server.Pause())
			require.NoError(t, server.Delete(configMaps, "default", "deleted"))
			create("created")
			require.NoError(t, server.RestartWithNewHistory())
			for version() <= remembered+3 {
				require.NoError(t, server.Modify(configMaps, "default", "busy", func(u *unstructured.Unstructured) {
					u.SetAnnotations(map[string]string{"n": u.GetResourceVersion()})
				}))
			}
			require.NoError(t, server.Resume())
			time.Sleep(35 * time.Second)
			synctest.Wait()
			require.ElementsMatch(t, []string{"add created", "delete deleted"}, events(), "the reflector asks for some objects")

			time.Sleep(70 * time.Minute)
			synctest.Wait()
			have := map[string]string{}
			for o := range inf.Snapshot().All() {
				have[o.GetName()] = o.GetResourceVersion()
			}
			want := map[string]string{}
			objs, err := server.List(configMaps, "", nil)
			require.NoError(t, err)
			for _, o := range objs {
				want[o.GetName()] = o.GetResourceVersion()
			}
			require.Equal(t, want, have)
			require.Empty(t, events())
			audit := auditOf(inf.Health())
			require.Equal(t, 1, audit.Audits)
			require.Zero(t, audit.Found(), "nothing is left for the audit")
			require.NoError(t, f.Shutdown(t.Context()))
		})
	})
}

func TestAnAuditHealsTheCacheOfARestoredServer(t *testing.T) {
	t.Parallel()
	pool := intern.NewPool()
	auditHeals(t, informer.FactoryOptions{}, informer.ForOptions[*corev1.ConfigMap]{})
	auditHeals(t, informer.FactoryOptions{}, informer.ForOptions[*unstructured.Unstructured]{
		Transform: intern.Transform[*unstructured.Unstructured](pool),
		Kind:      corev1.SchemeGroupVersion.WithKind("ConfigMap"),
	})
	// One source per namespace, each of which audits its own.
	auditHeals(t, informer.FactoryOptions{Namespaces: []string{"default", "other"}}, informer.ForOptions[*metav1.PartialObjectMetadata]{
		Transform: intern.Transform[*metav1.PartialObjectMetadata](pool),
		Resource:  corev1.SchemeGroupVersion.WithResource("configmaps"),
	})
}

// An informer of ranges audits its ranges, and repairs nothing else, whether or not the
// server filters.
func TestAnAuditHealsTheRangesOfARestoredServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		configMaps := corev1.SchemeGroupVersion.WithResource("configmaps")
		server := informertest.Start(t, informertest.Options{InMemory: true, Scheme: scripted.CoreTypes()})
		half, other := sharding.SplitHashes(2)[0], sharding.SplitHashes(2)[1]
		within := func(r sharding.HashRange) map[string]string {
			objs, err := server.List(configMaps, "", nil)
			require.NoError(t, err)
			m := map[string]string{}
			for _, o := range objs {
				if r.Contains(sharding.HashUID.Of(o)) {
					m[o.GetName()] = o.GetResourceVersion()
				}
			}
			return m
		}
		created := 0
		create := func(n int) {
			for range n {
				created++
				require.NoError(t, server.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("object-", created)}}))
			}
		}
		create(100)
		// The old history is longer than the new one will be.
		busy := slices.Max(slices.Collect(maps.Keys(within(other))))
		touch := func() {
			require.NoError(t, server.Modify(configMaps, "default", busy, func(u *unstructured.Unstructured) {
				u.SetAnnotations(map[string]string{"n": u.GetResourceVersion()})
			}))
		}
		for range 200 {
			touch()
		}
		source, err := reflector.NewResource[*corev1.ConfigMap](server.Config(), configMaps, reflector.ResourceOptions{})
		require.NoError(t, err)
		inf, err := sharding.NewRanged(source, sharding.HashUID, informer.Options[*corev1.ConfigMap]{
			Reflector: reflector.Options{Monitor: audit.Every(time.Hour)},
		})
		require.NoError(t, err)
		require.NoError(t, inf.AddRanges(half))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- inf.Run(ctx) }()
		cached := func() map[string]string {
			m := map[string]string{}
			for o := range inf.Snapshot().All() {
				m[o.Name] = o.ResourceVersion
			}
			return m
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, within(half), cached())

		remembered, err := strconv.Atoi(server.ResourceVersion())
		require.NoError(t, err)
		require.NoError(t, server.Pause())
		extra := 0
		for _, r := range []sharding.HashRange{half, other} {
			for i, name := range slices.Sorted(maps.Keys(within(r))) {
				if i < 5 {
					require.NoError(t, server.Delete(configMaps, "default", name))
					extra++
				}
			}
		}
		require.Equal(t, 10, extra)
		create(20)
		require.NoError(t, server.RestartWithNewHistory())
		for {
			v, err := strconv.Atoi(server.ResourceVersion())
			require.NoError(t, err)
			if v > remembered+3 {
				break
			}
			touch()
		}
		require.NoError(t, server.Resume())
		time.Sleep(35 * time.Second)
		synctest.Wait()
		require.Equal(t, within(half), cached(), "the reflector asks for some objects")

		time.Sleep(70 * time.Minute)
		synctest.Wait()
		want := within(half)
		require.Equal(t, want, cached())
		audit := auditOf(inf.Health())
		require.Equal(t, 1, audit.Audits)
		require.Zero(t, audit.Found(), "nothing is left for the audit")

		// A range that comes is audited from then on.
		require.NoError(t, inf.AddRanges(other))
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		require.Len(t, cached(), 110)
		audit = auditOf(inf.Health())
		require.Positive(t, audit.Audits)
		require.Zero(t, audit.Found(), "nothing is wrong any more")
		stop()
		require.NoError(t, <-ended)
	})
}
