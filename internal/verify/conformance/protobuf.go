package conformance

import (
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

const protobuf = "Accept: application/vnd.kubernetes.protobuf"

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

// protobufTests are tests of answers that are not JSON.
var protobufTests = map[string]func(*api){
	"ObjectsAndListsHaveAnEnvelope": func(a *api) {
		cm := a.configMap("a")
		for target, kind := range map[string]string{a.configMaps("/a"): "ConfigMap", a.configMaps("?labelSelector=l"): "ConfigMapList"} {
			resp, content := a.do("GET", target, "", protobuf)
			require.Equal(a, http.StatusOK, resp.StatusCode, "%s", content)
			assert.Equal(a, "application/vnd.kubernetes.protobuf", resp.Header.Get("Content-Type"))
			object := a.unwrap(content)
			assert.Equal(a, runtime.TypeMeta{APIVersion: "v1", Kind: kind}, object.TypeMeta)
			assert.Contains(a, string(object.Raw), text(cm, "metadata", "uid"))
		}
	},
	"ErrorsAreProtobufToo": func(a *api) {
		resp, content := a.do("GET", a.configMaps("/absent"), "", protobuf)
		assert.Equal(a, http.StatusNotFound, resp.StatusCode)
		object := a.unwrap(content)
		assert.Equal(a, runtime.TypeMeta{APIVersion: "v1", Kind: "Status"}, object.TypeMeta)
		var status metav1.Status
		require.NoError(a, status.Unmarshal(object.Raw))
		assert.Equal(a, metav1.StatusReasonNotFound, status.Reason)
	},
	"WatchesAreFrames": func(a *api) {
		cm := a.configMap("a")
		resp := a.open("GET", a.configMaps("?watch=true&labelSelector=l&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"), "", protobuf)
		defer func() { _ = resp.Body.Close() }()
		require.Equal(a, http.StatusOK, resp.StatusCode)
		assert.Equal(a, "application/vnd.kubernetes.protobuf;stream=watch", resp.Header.Get("Content-Type"))
		typ, object := a.frame(resp.Body)
		assert.Equal(a, "ADDED", typ)
		assert.Equal(a, "ConfigMap", object.Kind)
		assert.Contains(a, string(object.Raw), text(cm, "metadata", "uid"))
		typ, object = a.frame(resp.Body)
		assert.Equal(a, "BOOKMARK", typ)
		assert.Contains(a, string(object.Raw), metav1.InitialEventsAnnotationKey)
	},
	"CustomResourcesHaveMetadataOnly": func(a *api) {
		group := a.ns + ".test"
		path := fmt.Sprintf("/apis/%s/v1/namespaces/%s/widgets", group, a.ns)
		a.expect(http.StatusCreated, "POST", crds, strings.ReplaceAll(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
			"metadata":{"name":"widgets.GROUP"},"spec":{"group":"GROUP","scope":"Namespaced","names":{"plural":"widgets","kind":"Widget"},
			"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`, "GROUP", group))
		require.Eventually(a, func() bool {
			resp, _ := a.do("GET", path, "")
			return resp.StatusCode == http.StatusOK
		}, patience, 50*time.Millisecond, "the resource is served")
		made := a.expect(http.StatusCreated, "POST", path, `{"apiVersion":"`+group+`/v1","kind":"Widget","metadata":{"name":"a"}}`)
		resp, _ := a.do("GET", path, "", protobuf)
		assert.Equal(a, http.StatusNotAcceptable, resp.StatusCode)
		resp, content := a.do("GET", path, "", protobuf+";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")
		require.Equal(a, http.StatusOK, resp.StatusCode, "%s", content)
		object := a.unwrap(content)
		assert.Equal(a, runtime.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}, object.TypeMeta)
		var list metav1.PartialObjectMetadataList
		require.NoError(a, list.Unmarshal(object.Raw))
		require.Len(a, list.Items, 1)
		assert.Equal(a, text(made, "metadata", "uid"), string(list.Items[0].UID))
	},
}
