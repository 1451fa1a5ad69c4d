package conformance

import (
	"net/http"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The Accept headers for metadata alone.
var (
	partial     = header{"Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}
	partialList = header{"Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}
)

// isPartial checks that an object is metadata and nothing else.
func (a *api) isPartial(o object, name string) {
	a.Helper()
	assert.Equal(a, "PartialObjectMetadata", o["kind"])
	assert.Equal(a, "meta.k8s.io/v1", o["apiVersion"])
	assert.Equal(a, name, nameOf(o))
	assert.NotContains(a, o, "data")
}

var viewTests = []test{
	{"MetadataAloneIsServed", func(a *api) {
		a.makeConfigmap("a", "l", "1")
		got := a.expect(http.StatusOK, "GET", a.configmaps("a"), nil, partial)
		a.isPartial(got, "a")
		assert.NotEmpty(a, uidOf(got))
		list := a.expect(http.StatusOK, "GET", a.configmaps("?labelSelector=l"), nil, partialList)
		assert.Equal(a, "PartialObjectMetadataList", list["kind"])
		assert.Equal(a, "meta.k8s.io/v1", list["apiVersion"])
		assert.NotEmpty(a, rv(list))
		all, names := items(list)
		assert.Equal(a, []string{"a"}, names)
		for _, item := range all {
			a.isPartial(item, "a")
		}
	}},
	{"MetadataAloneIsWatched", func(a *api) {
		a.makeConfigmap("a", "l", "1")
		w := a.watch(a.configmaps("?watch=true&labelSelector=l&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"), partial)
		a.isPartial(w.expect("ADDED", "a"), "a")
		end := w.next()
		assert.True(a, isInitialEnd(end), "%v", end)
		assert.Equal(a, "PartialObjectMetadata", end.Object["kind"])
		a.expect(http.StatusOK, "DELETE", a.configmaps("a"), nil)
		a.isPartial(w.expect("DELETED", "a"), "a")
	}},
	{"WhatCannotBeServedIsNotAcceptable", func(a *api) {
		a.refused(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable, "GET", a.configmaps(), nil, header{"Accept", "text/x-unknown"})
		a.expect(http.StatusOK, "GET", a.configmaps(), nil, header{"Accept", "text/x-unknown, application/json"})
		a.expect(http.StatusOK, "GET", a.configmaps(), nil, header{"Accept", "*/*"})
	}},
}
