package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/demo"
	"github.com/informerkit/informerkit/indexer"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/reflector"
	"github.com/informerkit/informerkit/workqueue"
)

// sweep is how long after an owner its pods go. At once would be too early: the
// owner's controller may not have heard yet that it is gone, and would take the
// pods for lost and make new ones.
const sweep = 200 * time.Millisecond

// collector deletes pods whose controller is gone. It needs nothing of the
// owners but their metadata, so that is all it caches.
type collector struct {
	Options
	pods    *informer.Informer[*corev1.Pod]
	owners  *informer.Informer[*metav1.PartialObjectMetadata]
	byOwner *indexer.Index[*corev1.Pod, types.UID]
	client  *client.Client[*corev1.Pod]
	queue   *workqueue.RateLimitingQueue[types.NamespacedName]
	rest    rest.Interface
}

func newCollector(cfg *rest.Config, pods *informer.Informer[*corev1.Pod], byOwner *indexer.Index[*corev1.Pod, types.UID], opts Options,
) (*collector, error) {
	writer, err := client.New[*corev1.Pod](demo.PrintWrites(cfg, opts.Transcript, "collector", func(w demo.Write) string {
		return "deleted pod " + w.Object.Name + ", whose owner is gone"
	}), podResource, client.Options{})
	if err != nil {
		return nil, err
	}
	c := &collector{Options: opts, pods: pods, byOwner: byOwner, client: writer, queue: newQueue("collector")}
	source, err := reflector.NewResource[*metav1.PartialObjectMetadata](cfg, opts.Owners, reflector.ResourceOptions{Namespace: opts.Namespace})
	if err != nil {
		return nil, err
	}
	c.owners, err = informer.New(source, informer.Options[*metav1.PartialObjectMetadata]{Name: "cluster-owners", Logger: opts.Log})
	if err != nil {
		return nil, err
	}
	anyKind := rest.CopyConfig(cfg)
	anyKind.NegotiatedSerializer = serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion()
	http, err := reflector.HTTPClientFor(anyKind)
	if err != nil {
		return nil, err
	}
	if c.rest, err = rest.UnversionedRESTClientForConfigAndClient(anyKind, http); err != nil {
		return nil, err
	}
	// A pod is looked at when its owner goes, and when it is new: the controller
	// may have made it for an owner that was already gone.
	_, err = c.owners.AddHandler(informer.HandlerFuncs[*metav1.PartialObjectMetadata]{
		DeleteFunc: func(owner *metav1.PartialObjectMetadata) {
			for pod := range indexer.ByIndex(c.pods.Snapshot(), c.byOwner, owner.UID) {
				c.queue.AddAfter(client.KeyOf(pod), sweep)
			}
		},
	}, informer.HandlerOptions{Name: "collector"})
	if err != nil {
		return nil, err
	}
	_, err = c.pods.AddHandler(informer.HandlerFuncs[*corev1.Pod]{
		AddFunc: func(pod *corev1.Pod, _ bool) { c.queue.Add(client.KeyOf(pod)) },
	}, informer.HandlerOptions{Name: "collector"})
	return c, err
}

func (c *collector) run(ctx context.Context) error {
	if err := informer.WaitForSync(ctx, c.pods, c.owners); err != nil {
		return err
	}
	return process(ctx, c.queue, c.Log, c.collect)
}

func (c *collector) collect(ctx context.Context, key types.NamespacedName) error {
	pod, err := c.pods.Lister().Get(key)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	ref := metav1.GetControllerOf(pod)
	if ref == nil || pod.DeletionTimestamp != nil {
		return nil
	}
	if ref.Kind != c.OwnerKind || ref.APIVersion != c.Owners.GroupVersion().String() {
		return nil // of a kind that is not ours to collect
	}
	gone, err := c.ownerGone(ctx, key.Namespace, ref)
	if err != nil || !gone {
		return err
	}
	return c.delete(ctx, pod)
}

// ownerGone asks the API server, not the cache: the cache may lag behind, and a
// deletion cannot be taken back.
func (c *collector) ownerGone(ctx context.Context, namespace string, ref *metav1.OwnerReference) (bool, error) {
	body, err := c.rest.Get().AbsPath("/apis", c.Owners.Group, c.Owners.Version, "namespaces", namespace, c.Owners.Resource, ref.Name).Do(ctx).Raw()
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("look up owner %s: %w", ref.Name, err)
	}
	var owner metav1.PartialObjectMetadata
	if err := json.Unmarshal(body, &owner); err != nil {
		return false, fmt.Errorf("look up owner %s: %w", ref.Name, err)
	}
	return owner.UID != ref.UID, nil
}

func (c *collector) delete(ctx context.Context, pod *corev1.Pod) error {
	err := c.client.Delete(ctx, client.KeyOf(pod), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID}})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("collect pod %s: %w", pod.Name, err)
	}
	return nil
}
