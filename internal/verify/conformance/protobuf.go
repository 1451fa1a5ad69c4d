package conformance

import (
	"encoding/binary"
	"io"
	"net/http"
	"strings"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

var protobuf = header{"Accept", "application/vnd.kubernetes.protobuf"}

// unwrap reads the envelope of a protobuf object.
func (a *api) unwrap(content []byte) runtime.Unknown {
	a.Helper()
	var unknown runtime.Unknown
	rest, ok := strings.CutPrefix(string(content), "k8s\x00")
	require.True(a, ok, "it begins with the magic number: %q", content)
	require.NoError(a, unknown.Unmarshal([]byte(rest)))
	return unknown
}

// frame reads one event of a protobuf watch.
func (a *api) frame(r io.Reader) (typ string, object runtime.Unknown) {
	a.Helper()
	var length uint32
	require.NoError(a, binary.Read(r, binary.BigEndian, &length))
	content := make([]byte, length)
	_, err := io.ReadFull(r, content)
	require.NoError(a, err)
	var ev metav1.WatchEvent
	require.NoError(a, ev.Unmarshal(content))
	return ev.Type, a.unwrap(ev.Object.Raw)
}

var protobufTests = []test{
	{"ObjectsAndListsHaveAnEnvelope", func(a *api) {
		cm := a.makeConfigmap("a", "l", "1")
		for path, kind := range map[string]string{a.configmaps("a"): "ConfigMap", a.configmaps("?labelSelector=l"): "ConfigMapList"} {
			ans := a.do("GET", path, nil, protobuf)
			require.Equal(a, http.StatusOK, ans.Code, "%s", ans.Raw)
			assert.Equal(a, "application/vnd.kubernetes.protobuf", ans.Header.Get("Content-Type"))
			object := a.unwrap(ans.Raw)
			assert.Equal(a, runtime.TypeMeta{APIVersion: "v1", Kind: kind}, object.TypeMeta)
			assert.Contains(a, string(object.Raw), uidOf(cm))
		}
	}},
	{"ErrorsAreProtobufToo", func(a *api) {
		ans := a.do("GET", a.configmaps("absent"), nil, protobuf)
		assert.Equal(a, http.StatusNotFound, ans.Code)
		object := a.unwrap(ans.Raw)
		assert.Equal(a, runtime.TypeMeta{APIVersion: "v1", Kind: "Status"}, object.TypeMeta)
		var status metav1.Status
		require.NoError(a, status.Unmarshal(object.Raw))
		assert.Equal(a, metav1.StatusReasonNotFound, status.Reason)
	}},
	{"WatchesAreFrames", func(a *api) {
		cm := a.makeConfigmap("a", "l", "1")
		resp := a.open("GET", a.configmaps("?watch=true&labelSelector=l&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"), nil, protobuf)
		defer resp.Body.Close()
		require.Equal(a, http.StatusOK, resp.StatusCode)
		assert.Equal(a, "application/vnd.kubernetes.protobuf;stream=watch", resp.Header.Get("Content-Type"))
		typ, object := a.frame(resp.Body)
		assert.Equal(a, "ADDED", typ)
		assert.Equal(a, "ConfigMap", object.Kind)
		assert.Contains(a, string(object.Raw), uidOf(cm))
		typ, object = a.frame(resp.Body)
		assert.Equal(a, "BOOKMARK", typ)
		assert.Contains(a, string(object.Raw), metav1.InitialEventsAnnotationKey)
	}},
	{"CustomResourcesHaveMetadataOnly", func(a *api) {
		group := a.define("Namespaced")
		path := a.path("/apis/"+group+"/v1", "widgets", nil)
		made := a.expect(http.StatusCreated, "POST", path, widget(group, "a", 1))
		assert.Equal(a, http.StatusNotAcceptable, a.do("GET", path, nil, protobuf).Code)
		as := header{"Accept", protobuf.value + ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}
		ans := a.do("GET", path, nil, as)
		require.Equal(a, http.StatusOK, ans.Code, "%s", ans.Raw)
		object := a.unwrap(ans.Raw)
		assert.Equal(a, runtime.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}, object.TypeMeta)
		var list metav1.PartialObjectMetadataList
		require.NoError(a, list.Unmarshal(object.Raw))
		require.Len(a, list.Items, 1)
		assert.Equal(a, uidOf(made), string(list.Items[0].UID))
	}},
}
