package explored

import (
	"context"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/pkg/controller/replicaset"

	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/informertest/explore"
)

var replicaSets = appsv1.SchemeGroupVersion.WithResource("replicasets")

func buildReplicaSet(ctx context.Context, clients kubernetes.Interface, factory informers.SharedInformerFactory) (runnable, error) {
	return replicaset.NewReplicaSetController(ctx, factory.Apps().V1().ReplicaSets(), factory.Core().V1().Pods(), clients, replicaset.BurstReplicas), nil
}

func replicaSetSubject() explore.Subject {
	return explore.Subject{
		Start: managed(buildReplicaSet),
		Act: func(w *explore.World) {
			w.Create(newReplicaSet(2))
			w.Change(replicaSets, "default", "web", scaled(4))
			w.Do("delete a pod", func(s *informertest.Server) error {
				list, err := s.List(pods, "default", nil)
				if err != nil || len(list) == 0 {
					return err
				}
				return s.Delete(pods, "default", list[0].GetName())
			})
			w.Change(replicaSets, "default", "web", scaled(1))
			w.Delete(replicaSets, "default", "web")
			w.Create(newReplicaSet(3))
		},
		Eventually: rightNumberOfPods,
	}
}

func newReplicaSet(n int32) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{ObjectMeta: at("web"), Spec: appsv1.ReplicaSetSpec{
		Replicas: &n, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template("v1"),
	}}
}

// rightNumberOfPods: the set controls as many pods as it is to have, its status says so, and no pod is nobody's.
func rightNumberOfPods(v explore.View) error {
	rs := explore.Get[appsv1.ReplicaSet](v, replicaSets, "default", "web")
	if rs == nil {
		return fmt.Errorf("the replica set is gone")
	}
	n := 0
	for _, pod := range explore.List[corev1.Pod](v, pods, "default") {
		if !metav1.IsControlledBy(&pod, rs) {
			return fmt.Errorf("pod %s is not a pod of the set", pod.Name)
		}
		if pod.DeletionTimestamp == nil {
			n++
		}
	}
	if n != int(*rs.Spec.Replicas) || n != int(rs.Status.Replicas) || n != int(rs.Status.ReadyReplicas) {
		return fmt.Errorf("the set is to have %d pods, has %d, and says %d, %d ready", *rs.Spec.Replicas, n, rs.Status.Replicas, rs.Status.ReadyReplicas)
	}
	return nil
}

// Two findings.
//
// reportSortingDeletionAgeRatioMetric divides whole milliseconds by the age of the youngest ready pod in whole
// milliseconds. If that is 0, the worker panics, and with it kube-controller-manager. The clock of the bubble stands
// still while a pod becomes ready. In a cluster it takes an API server whose clock is ahead of the controller's by the
// age of that pod, to the millisecond.
//
// While the set is gone and the cache still has it, pods are created for it about once a second, as often as the
// garbage collector deletes them.
func TestReplicaSet(t *testing.T) {
	Case{
		Subject: replicaSetSubject(),
		Known: []Finding{{
			Schedule: "early@w17", Rule: "panic", Reason: "replicaset.reportSortingDeletionAgeRatioMetric",
			Trace: []string{"pods become ready", "early@w17: users act before a1 can update replicasets/status", "integer divide by zero"},
		}, {
			Schedule: "gap@a5:replicasets:3", Rule: "dead-owner", Reason: "a1 has created pods 5 times for replicasets.apps default/web, which is gone",
			Trace: []string{"update replicasets/status default/web → 404", "create pods default/web-", "garbage is collected", "create pods default/web-"},
		}},
		Searches: []Search{{Name: "all faults", Subject: replicaSetSubject(), Without: []string{"panic", "dead-owner"}}},
	}.Test(t)
}
