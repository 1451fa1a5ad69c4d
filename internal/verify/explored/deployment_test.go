package explored

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/pkg/controller/deployment"

	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/informertest/explore"
)

var deployments = appsv1.SchemeGroupVersion.WithResource("deployments")

func buildDeployment(ctx context.Context, clients kubernetes.Interface, factory informers.SharedInformerFactory) (runnable, error) {
	return deployment.NewDeploymentController(ctx, factory.Apps().V1().Deployments(), factory.Apps().V1().ReplicaSets(), factory.Core().V1().Pods(), clients)
}

// replicaSetsFollow plays the replica set controller: each set has the pods that it wants, ready.
func replicaSetsFollow(s *informertest.Server) {
	list, err := s.List(replicaSets, "default", nil)
	if err != nil {
		panic(err)
	}
	for _, rs := range list {
		n, _, _ := unstructured.NestedInt64(rs.Object, "spec", "replicas")
		has, _, _ := unstructured.NestedInt64(rs.Object, "status", "availableReplicas")
		seen, _, _ := unstructured.NestedInt64(rs.Object, "status", "observedGeneration")
		if has == n && seen == rs.GetGeneration() {
			continue
		}
		err := s.Modify(replicaSets, "default", rs.GetName(), func(u *unstructured.Unstructured) {
			u.Object["status"] = map[string]any{
				"replicas": n, "fullyLabeledReplicas": n, "readyReplicas": n, "availableReplicas": n, "observedGeneration": u.GetGeneration(),
			}
		})
		if err != nil {
			panic(err)
		}
	}
	Step(s)
}

func deploymentSubject() explore.Subject {
	return explore.Subject{
		Start:  managed(buildDeployment),
		Others: replicaSetsFollow,
		Act: func(w *explore.World) {
			roll(w)
			w.Delete(deployments, "default", "web")
			w.Create(newDeployment(2))
		},
		Always:     oneSetPerTemplate,
		Eventually: rolledOut,
	}
}

// roll creates a deployment, changes it, and changes it back.
func roll(w *explore.World) {
	w.Create(newDeployment(3))
	w.Change(deployments, "default", "web", image("v2"))
	w.Change(deployments, "default", "web", scaled(4))
	w.Change(deployments, "default", "web", image("v1"))
}

func newDeployment(n int32) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: at("web"), Spec: appsv1.DeploymentSpec{
		Replicas: &n, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template("v1"),
	}}
}

// oneSetPerTemplate: no two replica sets of one deployment have the same template.
func oneSetPerTemplate(v explore.View) error {
	sets := explore.List[appsv1.ReplicaSet](v, replicaSets, "default")
	for i, a := range sets {
		for _, b := range sets[:i] {
			if sameOwner(a, b) && apiequality.Semantic.DeepEqual(a.Spec.Template.Spec, b.Spec.Template.Spec) {
				return fmt.Errorf("%s and %s have the same template", b.Name, a.Name)
			}
		}
	}
	return nil
}

func sameOwner(a, b appsv1.ReplicaSet) bool {
	one, two := metav1.GetControllerOf(&a), metav1.GetControllerOf(&b)
	return one != nil && two != nil && one.UID == two.UID
}

// rolledOut: what has the template of the deployment has all replicas, and the status says so.
func rolledOut(v explore.View) error {
	d := explore.Get[appsv1.Deployment](v, deployments, "default", "web")
	if d == nil {
		return fmt.Errorf("the deployment is gone")
	}
	total, current := int32(0), int32(0)
	for _, rs := range explore.List[appsv1.ReplicaSet](v, replicaSets, "default") {
		if !metav1.IsControlledBy(&rs, d) {
			return fmt.Errorf("%s is not of the deployment", rs.Name)
		}
		total += *rs.Spec.Replicas
		if apiequality.Semantic.DeepEqual(rs.Spec.Template.Spec, d.Spec.Template.Spec) {
			current += *rs.Spec.Replicas
		}
	}
	s := d.Status
	if current != *d.Spec.Replicas || total != current {
		return fmt.Errorf("of %d replicas %d have the template, and there are %d", *d.Spec.Replicas, current, total)
	}
	if s.ObservedGeneration != d.Generation || s.Replicas != total || s.UpdatedReplicas != total || s.AvailableReplicas != total {
		return fmt.Errorf("the status is wrong: %+v", s)
	}
	return nil
}

// Three findings.
//
// After 15 retries, about three minutes, a deployment is dropped from the queue (maxRetries). If no event follows, it
// waits for the next resync, half a day or more. The searches have the patience for that.
//
// A create that fails with AlreadyExists is taken for a collision of hashes unless the replica set in the cache is
// the deployment's own (getNewReplicaSet). After a deployment was deleted and created again, an old cache has the set
// of the former one; a moment is enough, if users do both at once (order@111669 early@w15). Then collisionCount is raised, and a second set is created with the same template, also scaled
// up. When the cache has caught up, the second one is scaled to zero and stays in the history.
//
// While the deployment is gone and the cache still has it, replica sets are created for it about once a second.
func TestDeployment(t *testing.T) {
	tolerant, rolling := deploymentSubject(), deploymentSubject()
	tolerant.Always, rolling.Act = nil, roll
	Case{
		Subject: deploymentSubject(),
		Known: []Finding{{
			Schedule: "500@w36:3 deny@w25", Rule: "eventually", Reason: "of 4 replicas 0 have the template, and there are 3", Rest: &rolling,
			Trace: []string{"update of replicasets is accepted again", "w38 update replicasets default/web-7f856f8c98 → refused with 500", "the same 2 times more"},
		}, {
			Schedule: "lag@w40:replicasets", Rule: "always", Reason: "have the same template",
			Trace: []string{"create Deployment default/web", "create replicasets default/web-", "create replicasets default/ → 409", "status.collisionCount nothing→1", "create replicasets default/web-"},
		}, {
			Schedule: "order@111669 early@w15", Rule: "always", Reason: "have the same template",
			Trace: []string{"create Deployment default/web", "create replicasets default/ → 409", "status.collisionCount nothing→1", "create replicasets default/web-"},
		}, {
			Schedule: "gap@a5:deployments", Rule: "dead-owner", Reason: "a1 has created replicasets 5 times for deployments.apps default/web, which is gone",
			Trace: []string{"update deployments/status default/web → 404", "create replicasets default/web-"},
		}},
		Searches: []Search{
			{Name: "no deletion", Subject: rolling, Without: []string{"replace"}, Quiet: resync + time.Hour},
			{Name: "all faults, without the number of sets", Subject: tolerant, Without: []string{"dead-owner"}, Quiet: resync + time.Hour},
		},
	}.Test(t)
}
