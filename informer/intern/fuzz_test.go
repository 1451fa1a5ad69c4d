package intern

import (
	"encoding/json"
	"math/rand"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	k8sjson "k8s.io/apimachinery/pkg/util/json"
)

func asUnstructured(t testing.TB, obj any) *unstructured.Unstructured {
	raw, err := json.Marshal(obj)
	require.NoError(t, err)
	u := &unstructured.Unstructured{}
	require.NoError(t, k8sjson.Unmarshal(raw, &u.Object))
	return u
}

// builtIn are the types of which random values are made.
var builtIn = []runtime.Object{
	&corev1.Pod{}, &corev1.Node{}, &corev1.Service{}, &corev1.ConfigMap{}, &corev1.Secret{}, &corev1.Event{}, &corev1.PersistentVolume{},
	&appsv1.Deployment{}, &appsv1.StatefulSet{}, &batchv1.CronJob{}, &discoveryv1.EndpointSlice{}, &networkingv1.Ingress{},
	&rbacv1.ClusterRole{}, &metav1.PartialObjectMetadata{},
}

// FuzzInternedEqualsPlain interns random objects, several of which are equal or
// differ in little, and compares them with copies of what they were.
//
// Promise informer/intern/1
func FuzzInternedEqualsPlain(f *testing.F) {
	for i := range builtIn {
		f.Add(uint8(i), int64(1), int64(2), []byte{0, 1, 0, 1, 2, 3, 0, 0, 1})
	}
	f.Fuzz(func(t *testing.T, which uint8, seed, other int64, order []byte) {
		if len(order) == 0 || len(order) > 12 {
			return
		}
		like := builtIn[int(which)%len(builtIn)]
		pool := NewPool()
		if order[0]%2 == 1 {
			pool.parts.mask = 15 // so that hashes are equal
		}
		share := Transform[any](pool)
		var plain, interned []runtime.Object
		for _, o := range order {
			obj := random(like, seed+int64(o%4))
			if o >= 4 { // the metadata of another one
				reflect.ValueOf(obj).Elem().FieldByName("ObjectMeta").Set(
					reflect.ValueOf(random(like, other+int64(o%3))).Elem().FieldByName("ObjectMeta"))
			}
			u := asUnstructured(t, obj)
			plain = append(plain, obj.DeepCopyObject(), u.DeepCopy())
			interned = append(interned, obj, u)
			for _, o := range []any{obj, u} {
				_, err := share(o)
				require.NoError(t, err)
			}
		}
		for i := range plain {
			require.True(t, reflect.DeepEqual(plain[i], interned[i]), "object %d", i)
		}
	})
}

var codecs = serializer.NewCodecFactory(runtime.NewScheme())

func random(like runtime.Object, seed int64) runtime.Object {
	obj := reflect.New(reflect.TypeOf(like).Elem()).Interface().(runtime.Object)
	fuzzer.FuzzerFor(metafuzzer.Funcs, rand.NewSource(seed), codecs).Fill(obj)
	return obj
}

// FuzzInternedJSONEqualsPlain does the same with any JSON.
func FuzzInternedJSONEqualsPlain(f *testing.F) {
	f.Add([]byte(`{"a":{"b":[1,2.5,"x",null,true,{"c":{}}]},"metadata":{"labels":{"x":"y"}}}`), []byte(`{"a":{"b":[1,2.5,"x"]}}`))
	f.Add([]byte(`{"":{"":""}}`), []byte(`{"":{"":[]}}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		r := newRig[unstructured.Unstructured]()
		for i := range 6 {
			raw := [][]byte{a, b}[i%2]
			var u unstructured.Unstructured
			if k8sjson.Unmarshal(raw, &u.Object) != nil {
				return
			}
			want := u.DeepCopy()
			require.True(t, reflect.DeepEqual(want, r.intern(u)))
		}
	})
}
