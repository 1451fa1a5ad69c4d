package intern_test

import (
	"fmt"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/informer/intern"
	"github.com/informerkit/informerkit/reflector"
)

func ExampleTransform() {
	pool := intern.NewPool()
	transform := intern.Transform(pool, reflector.StripManagedFields[*corev1.Pod])
	var pods []*corev1.Pod
	for i := range 3 {
		// As an informer does with each object that it has decoded.
		pod, err := transform(&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("web-", i), ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Image: string([]byte("registry.example.com/web:v1"))}}},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		pods = append(pods, pod)
	}
	second, third := pods[1].Spec.Containers[0].Image, pods[2].Spec.Containers[0].Image
	fmt.Println(len(pods[0].ManagedFields), third, unsafe.StringData(second) == unsafe.StringData(third))
	fmt.Println(pool.Stats().Found > 0)
	// Output:
	// 0 registry.example.com/web:v1 true
	// true
}
