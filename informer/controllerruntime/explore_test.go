package controllerruntime_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/informerkit/informerkit/informer/informertest/explore"
)

var (
	parcels = corev1.SchemeGroupVersion.WithResource("secrets")
)

// Client-go's informers may leave a goroutine when they are stopped while they start.
var withoutLeaks = []string{"leak"}

// withoutSharedWait leaves out the handler of errors that slows down all goroutines of the process together: what it
// waits for is the time of one bubble.
func withoutSharedWait(t *testing.T) {
	t.Helper()
	handlers := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = handlers[:1]
	t.Cleanup(func() { utilruntime.ErrorHandlers = handlers })
}

// A program on controller-runtime's manager, with its own cache, is explored like any other: the wrong one is found, and
// the right one survives. The wrong one takes its cache for the truth, and each parcel gets a name of its own.
func TestAManagerIsExplored(t *testing.T) {
	withoutSharedWait(t)
	byName := func(box *corev1.ConfigMap) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: box.Namespace, Name: box.Name}
	}
	generated := func(box *corev1.ConfigMap) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: box.Namespace, GenerateName: box.Name + "-"}
	}
	result := explore.Search(t, explore.Options{Schedules: 100, Without: withoutLeaks}, parcelSubject(generated))
	require.NotNil(t, result.Finding)
	t.Log(result.Finding)
	assert.Equal(t, "eventually", result.Finding.Rule)
	result = explore.Search(t, explore.Options{Schedules: 40, Without: withoutLeaks}, parcelSubject(byName))
	if result.Finding != nil {
		t.Fatal(result.Finding)
	}
}

// parcelSubject is a controller that keeps one secret, the parcel, for each config map with data.
func parcelSubject(name func(box *corev1.ConfigMap) metav1.ObjectMeta) explore.Subject {
	return explore.Subject{
		Start: func(ctx context.Context, cfg *rest.Config) error {
			skip := true // managers of other runs have a controller of this name, too
			mgr, err := ctrl.NewManager(cfg, ctrl.Options{
				Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0", Controller: config.Controller{SkipNameValidation: &skip},
			})
			if err != nil {
				return err
			}
			r := &parcelReconciler{mgr.GetClient(), name}
			if err := ctrl.NewControllerManagedBy(mgr).Named("parcels").For(&corev1.ConfigMap{}).Owns(&corev1.Secret{}).Complete(r); err != nil {
				return err
			}
			return mgr.Start(ctx)
		},
		Act: func(w *explore.World) {
			w.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "box"}, Data: map[string]string{"n": "1"}})
			w.Change(configMaps, "default", "box", func(u *unstructured.Unstructured) { u.SetLabels(map[string]string{"moved": "yes"}) })
		},
		Eventually: func(v explore.View) error {
			if n := len(v.List(parcels, "default")); n != 1 {
				return fmt.Errorf("there are %d parcels for one box", n)
			}
			return nil
		},
	}
}

// parcelReconciler reads through the manager's cache.
type parcelReconciler struct {
	client.Client
	name func(box *corev1.ConfigMap) metav1.ObjectMeta
}

func (r *parcelReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	box := &corev1.ConfigMap{}
	if err := r.Get(ctx, req.NamespacedName, box); err != nil || len(box.Data) == 0 {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	have := &corev1.SecretList{}
	if err := r.List(ctx, have, client.InNamespace(req.Namespace)); err != nil || len(have.Items) > 0 {
		return ctrl.Result{}, err
	}
	parcel := &corev1.Secret{ObjectMeta: r.name(box)}
	if err := ctrl.SetControllerReference(box, parcel, r.Scheme()); err != nil {
		return ctrl.Result{}, err
	}
	err := r.Create(ctx, parcel)
	if apierrors.IsAlreadyExists(err) {
		return ctrl.Result{}, fmt.Errorf("the cache does not have it yet: %w", err)
	}
	return ctrl.Result{}, err
}

// A program on client-go's shared informers and work queue is explored like any other.
func TestClientGosInformersAreExplored(t *testing.T) {
	withoutSharedWait(t)
	byName := func(box *corev1.ConfigMap) metav1.ObjectMeta { return metav1.ObjectMeta{Name: box.Name} }
	generated := func(box *corev1.ConfigMap) metav1.ObjectMeta { return metav1.ObjectMeta{GenerateName: box.Name + "-"} }
	subject := parcelSubject(nil)
	subject.Start = startParcels(generated)
	result := explore.Search(t, explore.Options{Schedules: 100, Without: withoutLeaks}, subject)
	require.NotNil(t, result.Finding)
	t.Log(result.Finding)
	assert.Equal(t, "eventually", result.Finding.Rule)
	subject.Start = startParcels(byName)
	result = explore.Search(t, explore.Options{Schedules: 40, Without: withoutLeaks}, subject)
	if result.Finding != nil {
		t.Fatal(result.Finding)
	}
}

// startParcels returns a Start with one worker, as the sample controller of Kubernetes has it.
func startParcels(name func(box *corev1.ConfigMap) metav1.ObjectMeta) func(ctx context.Context, cfg *rest.Config) error {
	return func(ctx context.Context, cfg *rest.Config) error {
		clients, err := kubernetes.NewForConfig(cfg)
		if err != nil {
			return err
		}
		queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
		defer queue.ShutDown()
		factory := informers.NewSharedInformerFactory(clients, 0)
		defer factory.Shutdown()
		maps, secrets := factory.Core().V1().ConfigMaps(), factory.Core().V1().Secrets()
		add := func(obj any) { queue.Add(obj.(metav1.Object).GetName()) }
		_, err = maps.Informer().AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, obj any) { add(obj) }})
		if err != nil {
			return err
		}
		owned := secrets.Informer()
		factory.Start(ctx.Done())
		if !toolscache.WaitForCacheSync(ctx.Done(), maps.Informer().HasSynced, owned.HasSynced) {
			return nil
		}
		sync := func(key string) error {
			box, err := maps.Lister().ConfigMaps("default").Get(key)
			if err != nil || len(box.Data) == 0 || len(owned.GetStore().List()) > 0 {
				return client.IgnoreNotFound(err)
			}
			parcel := &corev1.Secret{ObjectMeta: name(box)}
			parcel.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(box, corev1.SchemeGroupVersion.WithKind("ConfigMap"))}
			_, err = clients.CoreV1().Secrets("default").Create(ctx, parcel, metav1.CreateOptions{})
			return err
		}
		go func() {
			<-ctx.Done()
			queue.ShutDown()
		}()
		for {
			key, shutdown := queue.Get()
			if shutdown {
				return nil
			}
			if err := sync(key); err != nil {
				queue.AddRateLimited(key)
			} else {
				queue.Forget(key)
			}
			queue.Done(key)
		}
	}
}
