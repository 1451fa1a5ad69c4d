package bugs

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// The names under which the server has the kinds that the controllers use.
var (
	Kind = schema.GroupVersionKind{Group: "shop.example.com", Version: "v1", Kind: "App"}
	Apps = schema.GroupVersionResource{Group: "shop.example.com", Version: "v1", Resource: "apps"}

	pods   = corev1.SchemeGroupVersion.WithResource("pods")
	claims = corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims")
	maps   = corev1.SchemeGroupVersion.WithResource("configmaps")
)

// App is the custom resource that most of the controllers reconcile.
type App struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   AppSpec   `json:"spec,omitempty"`
	Status AppStatus `json:"status,omitempty"`
}

// AppSpec is what the user wants.
type AppSpec struct {
	Replicas int    `json:"replicas,omitempty"`
	Image    string `json:"image,omitempty"`
}

// AppStatus is what the controllers have to say. Each of them uses some of it.
type AppStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Number             int                `json:"number,omitempty"`
	Attempts           int                `json:"attempts,omitempty"`
	Job                string             `json:"job,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

// DeepCopyObject implements runtime.Object.
func (a *App) DeepCopyObject() runtime.Object { return a.DeepCopy() }

// DeepCopy returns a copy that shares nothing with a.
func (a *App) DeepCopy() *App {
	out := *a
	a.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Status.Conditions = slices.Clone(a.Status.Conditions)
	return &out
}

// newApp returns an App as a user creates it.
func newApp(name string, spec AppSpec) *App {
	app := &App{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: spec}
	app.SetGroupVersionKind(Kind)
	return app
}

// newPod returns a pod.
func newPod(key types.NamespacedName) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/main"}}},
	}
}

// newClaim returns a claim of a volume.
func newClaim(key types.NamespacedName) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	return claim
}

// names returns the names of objects, in order.
func names[T any, P interface {
	*T
	metav1.Object
}](all []T) []string {
	var out []string
	for i := range all {
		out = append(out, P(&all[i]).GetName())
	}
	slices.Sort(out)
	return out
}

// differ returns an error if the names are others than they should be.
func differ(what string, got, want []string) error {
	if slices.Equal(got, want) {
		return nil
	}
	return fmt.Errorf("the %s are [%s] and should be [%s]", what, strings.Join(got, " "), strings.Join(want, " "))
}
