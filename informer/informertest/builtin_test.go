package informertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/informerkit/informerkit/informer/informertest/internal/builtin"
)

// compiledRelease is the version of k8s.io/api that the tests are compiled with, which the path of
// its source names.
func compiledRelease() string {
	file, _ := goruntime.FuncForPC(reflect.ValueOf(corev1.Resource).Pointer()).FileLine(0)
	_, version, _ := strings.Cut(file, "k8s.io/api@")
	version, _, _ = strings.Cut(version, "/")
	return version
}

// describedKinds calls test with each built-in kind that the server reads by a description of its
// Go type. In a workspace with newer Kubernetes modules the types are others than those that are described;
// then it is only checked that each kind has one.
func describedKinds(t *testing.T, test func(t *testing.T, gvk schema.GroupVersionKind, original runtime.Object)) {
	t.Helper()
	kinds := 0
	for gvk := range scheme.Scheme.AllKnownTypes() {
		if !builtin.Served(gvk) {
			continue
		}
		kinds++
		typ, ok := builtin.TypeOf(gvk)
		require.True(t, ok)
		assert.NotZero(t, typ.NumField())
		if compiledRelease() != builtin.Release() {
			continue
		}
		original, err := scheme.Scheme.New(gvk)
		require.NoError(t, err)
		t.Run(gvk.GroupVersion().String()+" "+gvk.Kind, func(t *testing.T) { test(t, gvk, original) })
	}
	assert.Greater(t, kinds, 60)
}

func TestBuiltInKindsAreReadAsByTheirGoTypes(t *testing.T) {
	describedKinds(t, func(t *testing.T, gvk schema.GroupVersionKind, original runtime.Object) {
		typ, _ := builtin.TypeOf(gvk)
		known, ok := builtin.KindOf(reflect.TypeOf(original).Elem())
		assert.True(t, ok)
		assert.Equal(t, gvk, known)
		for _, fill := range []func(){func() {}, func() { filled(reflect.ValueOf(original).Elem(), 0) }} {
			fill()
			text, err := json.Marshal(original)
			require.NoError(t, err)
			want, err := converter.ToUnstructured(original)
			require.NoError(t, err)
			read, err := builtin.Read(typ, text)
			require.NoError(t, err)
			have, err := converter.ToUnstructured(read)
			require.NoError(t, err)
			require.True(t, reflect.DeepEqual(want, have), "want %s, got %v", text, have)
			assert.Empty(t, unknownFields(typ, want))
		}
	})
}

func TestFieldsOfBuiltInKindsMergeAsInClientGo(t *testing.T) {
	clientGo := applyconfigurations.NewTypeConverter(scheme.Scheme)
	compared := 0
	describedKinds(t, func(t *testing.T, gvk schema.GroupVersionKind, original runtime.Object) {
		filled(reflect.ValueOf(original).Elem(), 0)
		content, err := converter.ToUnstructured(original)
		require.NoError(t, err)
		obj := &unstructured.Unstructured{Object: content}
		obj.SetGroupVersionKind(gvk)
		obj.SetManagedFields(nil)
		theirs, err := clientGo.ObjectToTyped(obj)
		if err != nil {
			return // it has no apply configuration
		}
		compared++
		converter, err := converterOf(Resource{Group: gvk.Group, Versions: []string{gvk.Version}, Kind: gvk.Kind, Plural: strings.ToLower(gvk.Kind) + "s"})
		require.NoError(t, err)
		ours, err := converter.ObjectToTyped(obj)
		require.NoError(t, err)
		wantFields, err := theirs.ToFieldSet()
		require.NoError(t, err)
		haveFields, err := ours.ToFieldSet()
		require.NoError(t, err)
		assert.Equal(t, wantFields.String(), haveFields.String())
	})
	assert.True(t, compared > 50 || compiledRelease() != builtin.Release(), compared)
}

func TestPatchesOfBuiltInKindsMergeAsByTheirGoTypes(t *testing.T) {
	compared := 0
	var compare func(t *testing.T, ours, theirs reflect.Type, depth int)
	compare = func(t *testing.T, ours, theirs reflect.Type, depth int) {
		mine, yours := strategicpatch.PatchMetaFromStruct{T: ours}, strategicpatch.PatchMetaFromStruct{T: theirs}
		for i := range theirs.NumField() {
			name, _, _ := strings.Cut(theirs.Field(i).Tag.Get("json"), ",")
			if name == "" || name == "-" {
				continue
			}
			_, want, err := yours.LookupPatchMetadataForStruct(name)
			require.NoError(t, err)
			_, have, err := mine.LookupPatchMetadataForStruct(name)
			require.NoError(t, err, "%s.%s", theirs, name)
			assert.Equal(t, want, have, "%s.%s", theirs, name)
			compared++
			if inner := structIn(theirs.Field(i).Type); inner != nil && depth < 6 {
				for j := range ours.NumField() {
					if other, _, _ := strings.Cut(ours.Field(j).Tag.Get("json"), ","); other == name && structIn(ours.Field(j).Type) != inner {
						compare(t, structIn(ours.Field(j).Type), inner, depth+1)
					}
				}
			}
		}
	}
	describedKinds(t, func(t *testing.T, gvk schema.GroupVersionKind, original runtime.Object) {
		typ, _ := builtin.TypeOf(gvk)
		compare(t, typ, reflect.TypeOf(original).Elem(), 0)
	})
	assert.True(t, compared > 1000 || compiledRelease() != builtin.Release(), compared)
}

// structIn is the struct in lists, maps and behind pointers; nil if there is none.
func structIn(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	return t
}

// filled sets everything in a value, with two different elements in each list and map.
func filled(v reflect.Value, n int) {
	switch into := v.Addr().Interface().(type) {
	case *metav1.TypeMeta, *[]metav1.ManagedFieldsEntry:
		return
	case *metav1.Time:
		*into = metav1.Unix(1e9, 0)
		return
	case *metav1.MicroTime:
		*into = metav1.MicroTime{Time: time.Unix(1e9, 1000)}
		return
	case *resource.Quantity:
		*into = *resource.NewQuantity(int64(n+1), resource.DecimalSI)
		return
	case *intstr.IntOrString:
		*into = intstr.FromInt32(int32(n + 1))
		return
	case *runtime.RawExtension:
		into.Raw = []byte(`{"a":["b"]}`)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		filled(v.Elem(), n)
	case reflect.Struct:
		for i := range v.NumField() {
			filled(v.Field(i), n)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			filled(v.Index(i), i)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for i := range 2 {
			value := reflect.New(v.Type().Elem()).Elem()
			filled(value, i)
			v.SetMapIndex(reflect.ValueOf(fmt.Sprint("k", i)).Convert(v.Type().Key()), value)
		}
	case reflect.String:
		v.SetString(fmt.Sprint("s", n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(float64(n) + 0.5)
	case reflect.Uint8:
		v.SetUint(uint64(n + 1))
	default:
		v.SetInt(int64(n + 1))
	}
}

func TestWithoutGoTypesProtobufIsRefusedAndJSONServed(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{})
	assert.Equal(t, mediaJSON, s.Config().ContentType)
	with := Start(t, Options{Scheme: scheme.Scheme})
	assert.Empty(t, with.Config().ContentType)
	message, err := (&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}).Marshal()
	require.NoError(t, err)
	body := envelope(metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, message)
	ask := func(s *Server, method, path, accept string) (int, string, string) {
		r, err := http.NewRequestWithContext(t.Context(), method, s.URL()+path, bytes.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Content-Type", mediaProtobuf)
		r.Header.Set("Accept", accept)
		resp, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer resp.Body.Close()
		answer, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, resp.Header.Get("Content-Type"), string(answer)
	}
	const path = "/api/v1/namespaces/default/configmaps"
	code, _, answer := ask(s, "POST", path, mediaJSON)
	assert.Equal(t, http.StatusUnsupportedMediaType, code)
	assert.Contains(t, answer, "informertest.Options{Scheme: scheme.Scheme}, of k8s.io/client-go/kubernetes/scheme")
	code, media, _ := ask(s, "GET", path, mediaProtobuf+","+mediaJSON)
	assert.Equal(t, http.StatusOK, code)
	assert.Equal(t, mediaJSON, media)
	code, _, _ = ask(s, "GET", path, mediaProtobuf)
	assert.Equal(t, http.StatusNotAcceptable, code)
	code, media, _ = ask(with, "POST", path, mediaProtobuf)
	assert.Equal(t, http.StatusCreated, code)
	assert.Equal(t, mediaProtobuf, media)
}

func TestOpenAPIHasTheTextsOfTheGoTypesThatAreGiven(t *testing.T) {
	t.Parallel()
	describe := func(opts Options) map[string]any {
		resp, err := http.Get(Start(t, opts).URL() + "/openapi/v3/apis/apps/v1")
		require.NoError(t, err)
		defer resp.Body.Close()
		var document map[string]any
		require.NoError(t, json.NewDecoder(resp.Body).Decode(&document))
		spec, ok := at(document, "components", "schemas", "io.k8s.api.apps.v1.DeploymentSpec").(map[string]any)
		require.True(t, ok)
		return spec
	}
	with, without := describe(Options{Scheme: scheme.Scheme}), describe(Options{})
	assert.NotEmpty(t, with["description"])
	assert.Empty(t, without["description"])
	assert.Equal(t, with["required"], without["required"])
	for name := range with["properties"].(map[string]any) {
		assert.Contains(t, without["properties"], name)
	}
}
