package reflector_test

import (
	"fmt"
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/informer/intern"
	"github.com/informerkit/informerkit/internal/verify/scripted"
	"github.com/informerkit/informerkit/reflector"
)

// A program that learns its types at run time has sources of an interface.
func TestASourceOfAnInterfaceDecodesIntoTheTypeOfItsOptions(t *testing.T) {
	t.Parallel()
	for _, typ := range []reflect.Type{
		reflect.TypeFor[*corev1.ConfigMap](),
		reflect.TypeFor[*unstructured.Unstructured](),
		reflect.TypeFor[*metav1.PartialObjectMetadata](),
		reflect.TypeFor[*slim](),
	} {
		t.Run(typ.String(), func(t *testing.T) {
			t.Parallel()
			server := informertest.Start(t, informertest.Options{})
			for i := range 300 { // several chunks of the decoders
				require.NoError(t, server.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
					Namespace: "default", Name: fmt.Sprint("a", i), Labels: map[string]string{"application": "the-same-in-all"},
				}}))
			}
			opts := reflector.ResourceOptions{Type: typ}
			if typ == reflect.TypeFor[*slim]() {
				opts.Kind = "ConfigMap"
			}
			plain, err := reflector.NewResource[reflector.Object](server.Config(), scripted.ConfigMaps, opts)
			require.NoError(t, err)
			for name, lw := range map[string]reflector.ListerWatcher[reflector.Object]{
				"where it is decoded": plain,
				"after a transform":   reflector.Transform(plain, func(obj reflector.Object) (reflector.Object, error) { return obj, nil }),
			} {
				shared := reflector.Transform(lw, intern.Transform[reflector.Object](intern.NewPool()))
				var objs []reflector.Object
				labels := map[unsafe.Pointer]bool{}
				_, err = shared.List(t.Context(), reflector.Request{}, func(ev reflector.WatchEvent[reflector.Object]) error {
					obj, err := ev.Object, ev.Err
					require.NoError(t, err)
					require.Equal(t, typ, reflect.TypeOf(obj), name)
					objs = append(objs, obj)
					labels[reflect.ValueOf(labelsOf(obj)).UnsafePointer()] = true
					return nil
				})
				require.NoError(t, err)
				require.Len(t, objs, 300)
				require.Less(t, len(labels), 150, "%s: labels of %s are not shared", name, typ)
			}
		})
	}
}

// labelsOf returns the map within an object, which GetLabels of an unstructured one
// copies.
func labelsOf(obj reflector.Object) any {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return u.Object["metadata"].(map[string]any)["labels"] //nolint:forcetypeassert // as created
	}
	return obj.GetLabels()
}

func TestATypeThatContradictsTheSourceIsRefused(t *testing.T) {
	t.Parallel()
	cfg := &rest.Config{Host: "http://localhost"}
	source := func(typ reflect.Type) error {
		_, err := reflector.NewResource[reflector.Object](cfg, scripted.ConfigMaps, reflector.ResourceOptions{Type: typ})
		return err
	}
	require.ErrorContains(t, source(nil), "set ResourceOptions.Type")
	require.ErrorContains(t, source(reflect.TypeFor[reflector.Object]()), "set ResourceOptions.Type")
	require.ErrorContains(t, source(reflect.TypeFor[corev1.ConfigMap]()), "does not implement")
	_, err := reflector.NewResource[*corev1.ConfigMap](cfg, scripted.ConfigMaps, reflector.ResourceOptions{Type: reflect.TypeFor[*corev1.Pod]()})
	require.ErrorContains(t, err, "leave it unset")
	_, err = reflector.NewResource[*corev1.ConfigMap](cfg, scripted.ConfigMaps, reflector.ResourceOptions{Type: reflect.TypeFor[*corev1.ConfigMap]()})
	require.NoError(t, err)
}
