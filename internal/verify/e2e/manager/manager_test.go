package manager

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func pod(run, suffix, uid, image string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"kind": "Pod",
		"metadata": map[string]any{
			"name": "web-5d4f-" + suffix, "generateName": "web-5d4f-", "namespace": run + "0", "uid": uid, "resourceVersion": suffix,
			"creationTimestamp": "2026-01-02T03:04:05Z", "managedFields": []any{suffix},
			"ownerReferences": []any{map[string]any{"name": "web-5d4f", "uid": uid}},
		},
		"spec":   map[string]any{"image": image},
		"status": map[string]any{"startTime": "2026-01-02T03:04:" + suffix + "Z"},
	}}
}

// Objects of two runs are equal but for what is random in them.
func TestNormalKeepsWhatIsNotRandom(t *testing.T) {
	t.Parallel()
	one := normal(pod("run1-", "11", "00000000-1111-2222-3333-444444444444", "v1"), "run1-")
	other := normal(pod("run2-", "22", "99999999-1111-2222-3333-444444444444", "v1"), "run2-")
	assert.Equal(t, one, other)
	assert.NotEqual(t, one, normal(pod("run2-", "22", "99999999-1111-2222-3333-444444444444", "v2"), "run2-"))
	assert.Contains(t, one, `"name":"web-5d4f-*"`)
}

func TestDifferentStatesAreReported(t *testing.T) {
	t.Parallel()
	made := func(objects map[string]int) []run {
		return []run{{times: make([]time.Duration, len(steps)+2), state: state{objects: objects, events: objects}}}
	}
	r := &Report{options: Options{Rounds: 1}}
	r.runs = [2][]run{made(map[string]int{"a": 1, "b": 2}), made(map[string]int{"a": 1, "b": 2})}
	require.NoError(t, r.Same())
	r.runs[ours] = made(map[string]int{"a": 1, "b": 3, "c": 1})
	err := r.Same()
	require.ErrorContains(t, err, "2 and 3 times: b")
	require.ErrorContains(t, err, "0 and 1 times: c")
	var out strings.Builder
	r.Write(&out, true)
	assert.Contains(t, out.String(), "Events of round 1, client-go's and ours: 2 and 3 times: b")
	assert.Contains(t, out.String(), "Compared at the end of the script: 3 objects")
}

func TestRequestsOfTheProgramAreCounted(t *testing.T) {
	t.Parallel()
	const before = `{"verb":"get","userAgent":"kube-controller-manager/v1","requestURI":"/api/v1/pods/a"}` + "\n"
	path := filepath.Join(t.TempDir(), "audit.log")
	require.NoError(t, os.WriteFile(path, []byte(before+`{"verb":"list","userAgent":"kube-controller-manager-adopted/v1","requestURI":"/api/v1/pods"}
{"verb":"list","userAgent":"kube-controller-manager/v1","requestURI":"/api/v1/pods?fieldSelector=metadata.name%3Da"}
{"verb":"list","userAgent":"script","requestURI":"/api/v1/pods"}
{"verb":"create","userA
`), 0o600))
	counts, err := requests(path, int64(len(before)))
	require.NoError(t, err)
	assert.Equal(t, map[string]int{"list": 1, "spot check": 1}, counts)
}
