package reconcile

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/replicaset/api"
	"github.com/informerkit/informerkit/internal/verify/e2e/reconcile/clientgo"
)

// user is who writes ReplicaSets in a namespace and looks at what becomes of them.
// It has nothing to do with either side.
type user struct {
	namespace string
	sets      *clientgo.SetClient
	core      kubernetes.Interface
}

// newUser creates a namespace whose name begins with prefix.
func newUser(ctx context.Context, cfg *rest.Config, prefix string) (*user, error) {
	core, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	ns, err := core.CoreV1().Namespaces().Create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix + "-"}}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	return userOf(cfg, ns.Name)
}

// userOf returns the user of a namespace.
func userOf(cfg *rest.Config, namespace string) (*user, error) {
	core, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	sets, err := clientgo.NewSetClient(cfg)
	return &user{namespace, sets(namespace), core}, err
}

// create creates a set and returns its generation.
func (u *user) create(ctx context.Context, name string, replicas int32) (generation int64, err error) {
	labels := map[string]string{"app": name}
	set := &api.ReplicaSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: api.GroupVersion.String(), Kind: api.Kind},
		ObjectMeta: metav1.ObjectMeta{Namespace: u.namespace, Name: name},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "example.test/image"}}},
			},
		},
	}
	created, err := u.sets.Create(ctx, set, metav1.CreateOptions{})
	return created.GetGeneration(), err
}

// scale changes the number of pods that a set wants and returns its new generation.
func (u *user) scale(ctx context.Context, name string, replicas int32) (generation int64, err error) {
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	scaled, err := u.sets.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	return scaled.GetGeneration(), err
}
