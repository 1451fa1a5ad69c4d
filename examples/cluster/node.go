package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/demo"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/workqueue"
)

// startTime is how long a container takes to start on this node.
const startTime = 50 * time.Millisecond

// node does what a kubelet reports: each pod that is pending runs and is ready a
// moment later.
type node struct {
	pods   *informer.Informer[*corev1.Pod]
	client *client.Client[*corev1.Pod]
	queue  *workqueue.RateLimitingQueue[types.NamespacedName]
	log    *slog.Logger
}

func newNode(cfg *rest.Config, pods *informer.Informer[*corev1.Pod], opts Options) (*node, error) {
	cfg = demo.PrintWrites(cfg, opts.Transcript, "node", func(w demo.Write) string { return "runs pod " + w.Object.Name })
	writer, err := client.New[*corev1.Pod](cfg, podResource, client.Options{})
	if err != nil {
		return nil, err
	}
	n := &node{pods: pods, client: writer, queue: newQueue("node"), log: opts.Log}
	_, err = pods.AddHandler(informer.HandlerFuncs[*corev1.Pod]{
		AddFunc: func(pod *corev1.Pod, _ bool) {
			n.queue.AddAfter(types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, startTime)
		},
	}, informer.HandlerOptions{Name: "node"})
	return n, err
}

func (n *node) run(ctx context.Context) error {
	return process(ctx, n.queue, n.log, n.start)
}

func (n *node) start(ctx context.Context, key types.NamespacedName) error {
	pod, err := n.pods.Lister().Get(key)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if pod.DeletionTimestamp != nil || pod.Status.Phase != "" && pod.Status.Phase != corev1.PodPending {
		return nil
	}
	pod = pod.DeepCopy()
	now := metav1.Now()
	pod.Status.Phase = corev1.PodRunning
	pod.Status.StartTime = &now
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: now}}
	_, err = n.client.Status().Update(ctx, pod)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("report pod %s as running: %w", key, err)
	}
	return nil
}
