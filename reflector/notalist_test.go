package reflector_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/informerkit/informerkit/internal/verify/scripted"
	"github.com/informerkit/informerkit/reflector"
)

// TestAnswersThatAreNotAListDoNotEmptyTheCache has answers with status 200.
func TestAnswersThatAreNotAListDoNotEmptyTheCache(t *testing.T) {
	t.Parallel()
	const head = `"apiVersion":"v1","metadata":{"resourceVersion":"7"}`
	for name, body := range map[string]string{
		"nothing":                     ``,
		"empty object":                `{}`,
		"null":                        `null`,
		"array":                       `[]`,
		"no kind":                     `{"items":[]}`,
		"no kind but a version":       `{"items":[],` + head + `}`,
		"no apiVersion":               `{"kind":"ConfigMapList","metadata":{"resourceVersion":"7"},"items":[]}`,
		"error list":                  `{"kind":"ErrorList","apiVersion":"v1","items":[]}`,
		"error":                       `{"items":[],"error":"upstream timed out"}`,
		"error with a version":        `{"items":[],"error":"upstream timed out","metadata":{"resourceVersion":"7"}}`,
		"two documents":               `{"kind":"ConfigMapList",` + head + `,"items":[]}{"kind":"ConfigMapList",` + head + `,"items":[]}`,
		"garbage behind":              `{"kind":"ConfigMapList",` + head + `,"items":[]} x`,
		"items twice":                 `{"kind":"ConfigMapList",` + head + `,"items":[],"items":[]}`,
		"kind twice":                  `{"kind":"ConfigMapList","kind":"ConfigMapList",` + head + `,"items":[]}`,
		"metadata twice":              `{"kind":"ConfigMapList",` + head + `,"metadata":{},"items":[]}`,
		"another version":             `{"kind":"ConfigMapList","apiVersion":"v2","metadata":{"resourceVersion":"7"},"items":[]}`,
		"one object":                  `{"kind":"ConfigMap",` + head + `}`,
		"items an object":             `{"kind":"ConfigMapList",` + head + `,"items":{}}`,
		"status":                      `{"kind":"Status","apiVersion":"v1","status":"Success"}`,
		"neither items nor a version": `{"kind":"ConfigMapList","apiVersion":"v1"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := serve(t, "application/json", func() string { return body })
			typed, err := reflector.NewResource[*corev1.ConfigMap](cfg, scripted.ConfigMaps, reflector.ResourceOptions{})
			require.NoError(t, err)
			_, _, err = listOnce(t, typed)
			require.ErrorContains(t, err, "cannot list configmaps")
			untyped, err := reflector.NewResource[*unstructured.Unstructured](cfg, scripted.ConfigMaps, reflector.ResourceOptions{})
			require.NoError(t, err)
			_, _, err = listOnce(t, untyped)
			require.ErrorContains(t, err, "cannot list configmaps")
		})
	}
}

func TestListsThatAreEmptyAreLists(t *testing.T) {
	t.Parallel()
	const head = `"apiVersion":"v1","metadata":{"resourceVersion":"7"}`
	for name, body := range map[string]string{
		"items null":    `{"kind":"ConfigMapList",` + head + `,"items":null}`,
		"no items":      `{"kind":"ConfigMapList",` + head + `}`,
		"items first":   `{"items":[],"kind":"ConfigMapList",` + head + `}`,
		"generic":       `{"kind":"List",` + head + `,"items":[]}` + "\n ",
		"unknown field": `{"kind":"ConfigMapList","more":{"a":[1]},` + head + `,"items":[]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := serve(t, "application/json", func() string { return body })
			for _, encoding := range []reflector.Encoding{reflector.EncodingAuto, reflector.EncodingJSON} {
				lw, err := reflector.NewResource[*corev1.ConfigMap](cfg, scripted.ConfigMaps, reflector.ResourceOptions{Encoding: encoding})
				require.NoError(t, err)
				meta, err := lw.List(t.Context(), reflector.Request{}, func(reflector.WatchEvent[*corev1.ConfigMap]) error { return nil })
				require.NoError(t, err)
				require.Equal(t, "7", meta.ResourceVersion)
			}
		})
	}
}
