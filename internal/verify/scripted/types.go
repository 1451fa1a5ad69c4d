package scripted

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// CoreTypes are the Go types of the core group, by which informertest speaks protobuf.
func CoreTypes() *runtime.Scheme {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		panic(err) // the same types are registered each time
	}
	return scheme
}
