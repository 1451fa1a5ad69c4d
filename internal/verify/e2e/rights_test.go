package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/demo"
	leader "github.com/informerkit/informerkit/examples/leaderelection/controller"
	namespaces "github.com/informerkit/informerkit/examples/namespaces/controller"
	typed "github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/sharding"
)

func TestNamespacesExampleRunsUnderItsRights(t *testing.T) {
	t.Parallel()
	client := clientFor(t, clusterWide(t))
	namespace := newNamespace(t, client)
	transcript := demo.NewTranscript(t.Output())
	runsUnderItsRights(t, "namespaces", func(ctx context.Context, cfg *rest.Config) error {
		c, err := namespaces.New(cfg, namespaces.Options{Say: transcript.Say})
		if err != nil {
			return err
		}
		return c.Run(ctx)
	}, func(ctx context.Context, admin *rest.Config) {
		you, err := demo.NewConfigMaps(admin, transcript, namespace)
		require.NoError(t, err)
		require.NoError(t, you.Create("colours", nil)(ctx))
		ns, err := client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
		require.NoError(t, err)
		ns.Labels["examples.informerkit.dev/watch"] = "true"
		_, err = client.CoreV1().Namespaces().Update(ctx, ns, metav1.UpdateOptions{})
		require.NoError(t, err)
		require.NoError(t, transcript.Wait(ctx, "Added "+namespace+"/colours"))
		require.NoError(t, demo.Install(ctx, admin, crd(t, "namespaces/widgets.yaml")))
	})
}

func TestLeaderElectionExampleRunsUnderItsRights(t *testing.T) {
	t.Parallel()
	const namespace = "informerkit-leaderelection"
	transcript := demo.NewTranscript(t.Output())
	run := func(ctx context.Context, cfg *rest.Config, identity string) error {
		c, err := leader.New(cfg, leader.Options{
			Identity: identity, Namespace: namespace,
			Say: func(format string, args ...any) {
				transcript.Say(identity, "%s "+format, append([]any{identity}, args...)...)
			},
		})
		if err != nil {
			return err
		}
		return c.Run(ctx)
	}
	first, stopFirst := context.WithCancel(context.Background())
	runsUnderItsRights(t, "leaderelection", func(ctx context.Context, cfg *rest.Config) error {
		go func() {
			<-ctx.Done()
			stopFirst()
		}()
		ended := make(chan error, 1)
		go func() { ended <- run(first, cfg, "first") }()
		if err := transcript.Wait(ctx, "first leads"); err != nil {
			return err
		}
		err := run(ctx, cfg, "second")
		assert.ErrorIs(t, <-ended, context.Canceled)
		return err
	}, func(ctx context.Context, admin *rest.Config) {
		configMaps, err := typed.New[*corev1.ConfigMap](admin, corev1.SchemeGroupVersion.WithResource("configmaps"), typed.Options{})
		require.NoError(t, err)
		handled := func(name, by string) {
			t.Helper()
			made, err := configMaps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace, Name: name, Labels: map[string]string{"examples.informerkit.dev/controller": "leaderelection"},
			}})
			require.NoError(t, err)
			eventually(t, func() error {
				got, err := configMaps.Get(ctx, typed.KeyOf(made))
				if err == nil && got.Annotations[leader.Annotation] != by {
					err = fmt.Errorf("handled by %q", got.Annotations[leader.Annotation])
				}
				return err
			})
		}
		handled("one", "first")
		// It may write Events, too; without that it would lead all the same.
		events, err := typed.New[*eventsv1.Event](admin, eventsv1.SchemeGroupVersion.WithResource("events"), typed.Options{})
		require.NoError(t, err)
		eventually(t, func() error {
			all, err := events.List(ctx, namespace, metav1.ListOptions{})
			if err == nil && !slices.ContainsFunc(all, func(e *eventsv1.Event) bool { return e.Reason == sharding.EventLeaderElected }) {
				err = fmt.Errorf("no Event says who leads, of %d", len(all))
			}
			return err
		})
		// Edited by hand, a session is read again before it is renewed.
		leases, err := typed.New[*coordinationv1.Lease](admin, coordinationv1.SchemeGroupVersion.WithResource("leases"), typed.Options{})
		require.NoError(t, err)
		sessions := func() (names []types.NamespacedName) {
			all, err := leases.List(ctx, namespace, metav1.ListOptions{LabelSelector: sharding.GroupLabel + "=informerkit-example"})
			require.NoError(t, err)
			for _, l := range all {
				if strings.Contains(l.Name, "-replica-") {
					names = append(names, typed.KeyOf(l))
				}
			}
			return names
		}
		for _, key := range sessions() {
			_, err := leases.Patch(ctx, key, types.MergePatchType, []byte(`{"metadata":{"annotations":{"edited":"by hand"}}}`))
			require.NoError(t, err)
			eventually(t, func() error {
				l, err := leases.Get(ctx, key)
				if err == nil && l.Annotations["edited"] != "" {
					err = fmt.Errorf("%s was not renewed yet", key)
				}
				return err
			})
		}
		stopFirst()
		handled("two", "second")
		// kube-apiserver would create a Lease by an update, but a renewal does not bring a
		// session back that was deleted.
		old := sessions()
		require.Len(t, old, 1)
		require.NoError(t, leases.Delete(ctx, old[0], metav1.DeleteOptions{}))
		handled("three", "second")
		eventually(t, func() error {
			if now := sessions(); len(now) != 1 || now[0] == old[0] {
				return fmt.Errorf("the sessions are %v; the deleted one was %v", now, old)
			}
			return nil
		})
	})
}
