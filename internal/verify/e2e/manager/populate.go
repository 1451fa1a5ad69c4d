package manager

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/informerkit/informerkit/internal/verify/population"
)

// populate creates n pods, as ReplicaSets of a cluster have them, which are running.
func populate(ctx context.Context, client kubernetes.Interface, n int) error {
	owners := map[string]types.UID{}
	spaces := map[string]bool{}
	for i := 0; i < n; i += population.PerReplicaSet {
		pod := population.Pod(i)
		if !spaces[pod.Namespace] {
			spaces[pod.Namespace] = true
			space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: pod.Namespace}}
			if _, err := client.CoreV1().Namespaces().Create(ctx, space, metav1.CreateOptions{}); err != nil {
				return err
			}
		}
		replicas := int32(min(population.PerReplicaSet, n-i))
		pod.Spec.NodeName = ""
		made, err := client.AppsV1().ReplicaSets(pod.Namespace).Create(ctx, &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Name: pod.OwnerReferences[0].Name, Labels: pod.Labels},
			Spec: appsv1.ReplicaSetSpec{
				Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: pod.Labels},
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels}, Spec: pod.Spec},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("manager: creating a ReplicaSet: %w", err)
		}
		owners[pod.Namespace+"/"+made.Name] = made.UID
	}
	return inParallel(ctx, n, func(i int) error {
		pod := population.Pod(i)
		pod.OwnerReferences[0].UID = owners[pod.Namespace+"/"+pod.OwnerReferences[0].Name]
		// Its node does not exist, and pods of such nodes are deleted.
		pod.UID, pod.ResourceVersion, pod.Spec.NodeName = "", "", ""
		pods := client.CoreV1().Pods(pod.Namespace)
		made, err := pods.Create(ctx, pod, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("manager: creating a pod: %w", err)
		}
		made.Status = pod.Status
		if _, err = pods.UpdateStatus(ctx, made, metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("manager: making a pod run: %w", err)
		}
		return nil
	})
}
