package e2e

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/demo"
	leader "github.com/informerkit/informerkit/examples/leaderelection/controller"
	namespaces "github.com/informerkit/informerkit/examples/namespaces/controller"
	typed "github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/controller"
	lease "github.com/informerkit/informerkit/informer/leader"
)

func TestNamespacesExampleRunsUnderItsRights(t *testing.T) {
	t.Parallel()
	client := clientFor(t, clusterWide(t))
	namespace := newNamespace(t, client)
	transcript := demo.NewTranscript(t.Output())
	runsUnderItsRights(t, "namespaces", func(ctx context.Context, cfg *rest.Config) error {
		c, err := namespaces.New(cfg, slog.Default(), transcript.Say)
		if err != nil {
			return err
		}
		return c.Run(ctx)
	}, func(ctx context.Context, admin *rest.Config) {
		you := demo.NewConfigMaps(admin, transcript, namespace)
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
		c := leader.New(controller.Options{Config: cfg}, lease.Options{Identity: identity, Namespace: namespace}, func(format string, args ...any) {
			transcript.Say(identity, "%s "+format, append([]any{identity}, args...)...)
		})
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
		assert.NoError(t, <-ended)
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
		stopFirst()
		handled("two", "second")
		// Deleted by hand, the Lease is made again.
		leases, err := typed.New[*coordinationv1.Lease](admin, coordinationv1.SchemeGroupVersion.WithResource("leases"), typed.Options{})
		require.NoError(t, err)
		require.NoError(t, leases.Delete(ctx, types.NamespacedName{Namespace: namespace, Name: "informerkit-example"}, metav1.DeleteOptions{}))
		handled("three", "second")
	})
}
