package explored

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/pkg/controller/statefulset"

	"github.com/informerkit/informerkit/informer/informertest/explore"
)

var statefulSets = appsv1.SchemeGroupVersion.WithResource("statefulsets")

func buildStatefulSet(ctx context.Context, clients kubernetes.Interface, factory informers.SharedInformerFactory) (runnable, error) {
	return statefulset.NewStatefulSetController(ctx, factory.Core().V1().Pods(), factory.Apps().V1().StatefulSets(),
		factory.Core().V1().PersistentVolumeClaims(), factory.Apps().V1().ControllerRevisions(), clients), nil
}

func statefulSetSubject() explore.Subject {
	return explore.Subject{
		Start: managed(buildStatefulSet),
		Act: func(w *explore.World) {
			w.Create(newStatefulSet(2))
			w.Change(statefulSets, "default", "web", scaled(3))
			w.Change(statefulSets, "default", "web", image("v2"))
			w.Change(statefulSets, "default", "web", scaled(1))
			w.Delete(statefulSets, "default", "web")
			w.Create(newStatefulSet(2))
		},
		Always:     inOrder,
		Eventually: allOrdinals,
	}
}

func newStatefulSet(n int32) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{ObjectMeta: at("web"), Spec: appsv1.StatefulSetSpec{
		Replicas: &n, ServiceName: "web", Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template("v1"),
	}}
}

// ordinal is the number in the name of a pod of the set.
func ordinal(pod string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(pod, "web-"))
	if err != nil {
		panic(err)
	}
	return n
}

// inOrder: a pod of the set is created only when all with lower ordinals are ready. The controller may still create pods
// for a set that is gone, whose other pods are being deleted.
func inOrder(v explore.View) error {
	writes := v.Writes()
	last := writes[len(writes)-1]
	if last.Verb != "create" || last.Resource != pods || last.After == nil || last.Code >= 300 {
		return nil
	}
	if set := explore.Get[appsv1.StatefulSet](v, statefulSets, "default", "web"); set == nil || !metav1.IsControlledBy(last.After, set) {
		return nil
	}
	for i := range ordinal(last.Name) {
		pod := explore.Get[corev1.Pod](v, pods, "default", fmt.Sprintf("web-%d", i))
		if pod == nil || pod.DeletionTimestamp != nil || !ready(pod) {
			return fmt.Errorf("%s was created, and web-%d is not ready", last.Name, i)
		}
	}
	return nil
}

func ready(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// allOrdinals: there is one pod of the wanted revision for each ordinal, and no other.
func allOrdinals(v explore.View) error {
	set := explore.Get[appsv1.StatefulSet](v, statefulSets, "default", "web")
	if set == nil {
		return fmt.Errorf("the set is gone")
	}
	all := explore.List[corev1.Pod](v, pods, "default")
	if len(all) != int(*set.Spec.Replicas) || len(all) != int(set.Status.ReadyReplicas) || len(all) != int(set.Status.UpdatedReplicas) {
		return fmt.Errorf("there are %d pods of %d; %+v", len(all), *set.Spec.Replicas, set.Status)
	}
	for i, pod := range all {
		if ordinal(pod.Name) != i || !metav1.IsControlledBy(&pod, set) || pod.Spec.Containers[0].Image != set.Spec.Template.Spec.Containers[0].Image {
			return fmt.Errorf("%s is not the pod for %d", pod.Name, i)
		}
	}
	return nil
}

// Three findings.
//
// Pods are deleted by name, without a precondition on the UID (realStatefulPodControlObjectManager.DeletePod). In a
// rolling update the new pod has the name of the old one. A new process whose cache still has the old pod deletes the
// new one, which is up to date.
//
// A status that is refused with a conflict is written again five times in a row, each time with what the cache has
// (UpdateStatefulSetStatus). While the cache is behind, each reconcile is five requests in vain.
//
// While the set is gone and the cache still has it, a revision and a pod are created for it about once a second.
func TestStatefulSet(t *testing.T) {
	Case{
		Subject: statefulSetSubject(),
		Known: []Finding{{
			Schedule: "stale@w27:pods:3", Rule: "wrong-object", Reason: "a2 has deleted pods default/web-0, which it has never seen",
			Trace: []string{"w24 delete pods default/web-0 → 200", "w26 create pods default/web-0 → 201", "a1 crashes", "a2       w28 delete pods default/web-0 → 200"},
		}, {
			Schedule: "stale@w27:statefulsets", Rule: "write-loop", Reason: "a2 has made the write update statefulsets/status default/web 40 times within 5s",
			Trace: []string{"a2       w28 update statefulsets/status default/web → 409", "the same 39 times more"},
		}, {
			Schedule: "gap@a4:statefulsets", Rule: "dead-owner", Reason: "5 times for statefulsets.apps default/web, which is gone",
			Trace: []string{"create controllerrevisions default/web-", "create pods default/web-0 → 201", "garbage is collected", "create controllerrevisions default/web-"},
		}},
		Searches: []Search{{Name: "all faults", Subject: statefulSetSubject(), Without: []string{"wrong-object", "write-loop", "dead-owner"}}},
	}.Test(t)
}
