package clients

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// sharedInformers follow writes.
func sharedInformers(t *testing.T, cfg *rest.Config, ns string) {
	c := kubernetes.NewForConfigOrDie(cfg)
	factory := informers.NewSharedInformerFactoryWithOptions(c, 0, informers.WithNamespace(ns))
	lister := factory.Core().V1().ConfigMaps().Lister().ConfigMaps(ns)
	ctx, cancel := context.WithCancel(t.Context())
	defer factory.Shutdown()
	defer cancel()
	factory.Start(ctx.Done())
	for typ, ok := range factory.WaitForCacheSync(ctx.Done()) {
		require.True(t, ok, typ)
	}
	cm, err := c.CoreV1().ConfigMaps(ns).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	eventually(t, "added", func() bool { _, err := lister.Get("a"); return err == nil })
	cm.Data = map[string]string{"k": "v"}
	_, err = c.CoreV1().ConfigMaps(ns).Update(ctx, cm, metav1.UpdateOptions{})
	require.NoError(t, err)
	eventually(t, "updated", func() bool { got, err := lister.Get("a"); return err == nil && got.Data["k"] == "v" })
	require.NoError(t, c.CoreV1().ConfigMaps(ns).Delete(ctx, "a", metav1.DeleteOptions{}))
	eventually(t, "deleted", func() bool { _, err := lister.Get("a"); return apierrors.IsNotFound(err) })
}

// subject is what events are about.
func subject(ns string) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: ns, Name: "p", UID: "u"}
}

// recorder counts repeats of an event through patches.
func recorder(t *testing.T, cfg *rest.Config, ns string) {
	c := kubernetes.NewForConfigOrDie(cfg)
	broadcaster := record.NewBroadcaster()
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: c.CoreV1().Events(ns)})
	r := broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "c"})
	for range 3 {
		r.Event(subject(ns), corev1.EventTypeNormal, "Reason", "the same")
	}
	r.Event(subject(ns), corev1.EventTypeWarning, "Other", "another")
	eventually(t, "three repeats and another event", func() bool {
		list, err := c.CoreV1().Events(ns).List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=p"})
		counts := map[string]int32{}
		for _, e := range list.Items {
			counts[e.Reason] += e.Count
		}
		return err == nil && len(list.Items) == 2 && counts["Reason"] == 3 && counts["Other"] == 1
	})
}

// eventsRecorder writes events of the newer group, which the older one shows too.
func eventsRecorder(t *testing.T, cfg *rest.Config, ns string) {
	c := kubernetes.NewForConfigOrDie(cfg)
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: c.EventsV1()})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	defer broadcaster.Shutdown()
	require.NoError(t, broadcaster.StartRecordingToSinkWithContext(ctx))
	r := broadcaster.NewRecorder(scheme.Scheme, "controller.test/c")
	for range 3 {
		r.Eventf(subject(ns), nil, corev1.EventTypeNormal, "Reason", "Acting", "the %s", "same")
	}
	var list *eventsv1.EventList
	eventually(t, "a series", func() bool {
		var err error
		list, err = c.EventsV1().Events(ns).List(ctx, metav1.ListOptions{})
		return err == nil && len(list.Items) == 1 && list.Items[0].Series != nil && list.Items[0].Series.Count >= 2
	})
	assert.Equal(t, "the same", list.Items[0].Note)
	core, err := c.CoreV1().Events(ns).Get(ctx, list.Items[0].Name, metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, "the same", core.Message)
	assert.Equal(t, "Acting", core.Action)
}

// manager runs a controller that creates a secret for each config map and records an event.
func manager(t *testing.T, cfg *rest.Config, ns string) {
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Metrics: server.Options{BindAddress: "0"},
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{ns: {}}},
	})
	require.NoError(t, err)
	r := mgr.GetEventRecorder("controller")
	reconcile := func(ctx context.Context, cm *corev1.ConfigMap) (ctrl.Result, error) {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: cm.Namespace, Name: cm.Name}}
		result, err := controllerutil.CreateOrUpdate(ctx, mgr.GetClient(), secret, func() error {
			secret.StringData = cm.Data
			return controllerutil.SetControllerReference(cm, secret, mgr.GetScheme())
		})
		if result == controllerutil.OperationResultCreated {
			r.Eventf(cm, nil, corev1.EventTypeNormal, "Created", "Create", "made a secret")
		}
		return ctrl.Result{}, err
	}
	require.NoError(t, ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}).Owns(&corev1.Secret{}).Named("secrets-"+ns).
		Complete(&reconciler{mgr.GetClient(), reconcile}))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	defer func() { cancel(); assert.NoError(t, <-done) }()
	c, err := client.New(cfg, client.Options{})
	require.NoError(t, err)
	require.NoError(t, c.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "a"}, Data: map[string]string{"k": "v"}}))
	var secret corev1.Secret
	eventually(t, "the secret", func() bool {
		return c.Get(ctx, client.ObjectKey{Namespace: ns, Name: "a"}, &secret) == nil
	})
	assert.Equal(t, "v", string(secret.Data["k"]))
	require.NoError(t, c.Delete(ctx, &secret))
	eventually(t, "another secret", func() bool {
		var next corev1.Secret
		return c.Get(ctx, client.ObjectKey{Namespace: ns, Name: "a"}, &next) == nil && next.UID != secret.UID
	})
	eventually(t, "the event", func() bool {
		var list corev1.EventList
		return c.List(ctx, &list, client.InNamespace(ns)) == nil && len(list.Items) > 0 && list.Items[0].Message == "made a secret"
	})
}

// reconciler fetches what a key names.
type reconciler struct {
	client    client.Client
	reconcile func(context.Context, *corev1.ConfigMap) (ctrl.Result, error)
}

// Reconcile implements reconcile.Reconciler.
func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var cm corev1.ConfigMap
	if err := r.client.Get(ctx, req.NamespacedName, &cm); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	return r.reconcile(ctx, &cm)
}
