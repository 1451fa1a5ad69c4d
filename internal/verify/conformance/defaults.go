package conformance

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// The smallest valid objects of all kinds, and what a kube-apiserver made of
// each. The second file is recorded: run the tests of a real server with
// CONFORMANCE_RECORD set to the file's path to record it again.
var (
	//go:embed testdata/minimal.yaml
	minimalObjects []byte
	//go:embed testdata/stored.json
	storedObjects []byte
)

const recordEnv = "CONFORMANCE_RECORD"

// minimalDocuments are the smallest objects of all kinds, for the namespace of
// the test.
func (a *api) minimalDocuments() []object {
	a.Helper()
	file := bytes.ReplaceAll(minimalObjects, []byte("NAMESPACE"), []byte(a.ns))
	decoder := yaml.NewYAMLToJSONDecoder(bytes.NewReader(file))
	var all []object
	for {
		var o object
		err := decoder.Decode(&o)
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(a, err)
		all = append(all, o)
	}
}

// collectionOf finds, through discovery, the path of the collection that an
// object belongs to.
func (a *api) collectionOf(o object) string {
	a.Helper()
	version, _ := o["apiVersion"].(string)
	root := "/apis/" + version
	if !strings.Contains(version, "/") {
		root = "/api/" + version
	}
	resources, _ := a.expect(http.StatusOK, "GET", root, nil)["resources"].([]any)
	for _, r := range resources {
		res, _ := r.(object)
		name, _ := res["name"].(string)
		if res["kind"] != o["kind"] || strings.Contains(name, "/") {
			continue
		}
		if res["namespaced"] == true {
			return root + "/namespaces/" + a.ns + "/" + name
		}
		return root + "/" + name
	}
	require.Fail(a, "kind is not served", "%s %s", version, o["kind"])
	return ""
}

// minimal creates the smallest objects of all kinds, calls visit with what the
// server stored of each, and removes them. Names are unique to the test.
func (a *api) minimal(visit func(name, path string, stored object)) {
	a.Helper()
	for _, o := range a.minimalDocuments() {
		name, path := nameOf(o), a.collectionOf(o)
		if o["kind"] != "CustomResourceDefinition" {
			metadata(o)["name"] = name + "-" + a.ns
		}
		at := path + "/" + nameOf(o)
		stored := a.expect(http.StatusCreated, "POST", path, o)
		visit(name, at, stored)
		// A real server protects volumes from deletion until a controller agrees.
		a.do("PATCH", at, raw(`{"metadata":{"finalizers":null}}`), mergePatch)
		a.do("DELETE", at+"?gracePeriodSeconds=0&propagationPolicy=Background", nil)
	}
}

// anonymous replaces what differs from one run to the next.
func (a *api) anonymous(stored object) object {
	a.Helper()
	text, err := json.Marshal(stored)
	require.NoError(a, err)
	text = []byte(strings.NewReplacer("-"+a.ns, "", a.ns, "NAMESPACE", uidOf(stored), "UID").Replace(string(text)))
	o := object{}
	require.NoError(a, json.Unmarshal(text, &o))
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields", "namespace"} {
		delete(metadata(o), field)
	}
	// Volumes are protected by admission, which the embedded server does without.
	if finalizers, _ := json.Marshal(metadata(o)["finalizers"]); strings.Contains(string(finalizers), "-protection") {
		delete(metadata(o), "finalizers")
	}
	spec, _ := o["spec"].(object)
	switch o["kind"] {
	case "Service":
		if ip := asString(spec["clusterIP"]); strings.Contains(ip, ".") {
			spec["clusterIP"], spec["clusterIPs"] = "IP", []any{"IP"}
		}
		ports, _ := spec["ports"].([]any)
		for _, p := range ports {
			if port, ok := p.(object); ok && port["nodePort"] != nil {
				port["nodePort"] = "PORT"
			}
		}
	case "CertificateSigningRequest": // who asks differs between servers
		for _, field := range []string{"username", "groups", "uid", "extra"} {
			delete(spec, field)
		}
	case "CSINode": // the Go type of the release after shows it
		delete(o, "status")
	case "PersistentVolume":
		status, _ := o["status"].(object)
		assert.NotEmpty(a, status["lastPhaseTransitionTime"])
		delete(status, "lastPhaseTransitionTime")
	case "CustomResourceDefinition": // a controller completes these later
		delete(o, "status")
		names, _ := spec["names"].(object)
		delete(names, "listKind")
		delete(names, "singular")
	}
	return o
}

// asString is a string in decoded JSON, or empty.
func asString(v any) string {
	s, _ := v.(string)
	return s
}

var defaultsTests = []test{
	{"WhatIsLeftOutIsFilledIn", func(a *api) {
		want := map[string]object{}
		recording := os.Getenv(recordEnv)
		if recording == "" {
			require.NoError(a, json.Unmarshal(storedObjects, &want))
		}
		got := map[string]object{}
		a.minimal(func(name, _ string, stored object) {
			name = strings.ReplaceAll(name, a.ns, "NAMESPACE")
			got[name] = a.anonymous(stored)
			if recording == "" {
				assert.Equal(a, want[name], got[name], name)
			}
		})
		if recording != "" {
			file, err := json.MarshalIndent(got, "", " ")
			require.NoError(a, err)
			require.NoError(a, os.WriteFile(recording, append(file, '\n'), 0o644))
			return
		}
		assert.Len(a, got, len(want))
	}},
	{"AnUpdateThatLeavesOutDefaultsChangesNothing", func(a *api) {
		d := a.expect(http.StatusCreated, "POST", a.path("/apis/apps/v1", "deployments", nil), deployment("d"))
		again := a.expect(http.StatusOK, "PUT", a.path("/apis/apps/v1", "deployments", []string{"d"}), deployment("d"))
		assert.Equal(a, rv(d), rv(again))
		assert.EqualValues(a, 1, metadata(again)["generation"])
	}},
	{"AServiceKeepsItsAddresses", func(a *api) {
		services := a.path("/api/v1", "services", nil)
		made := a.expect(http.StatusCreated, "POST", services, service("s", "NodePort"))
		ports, _ := value(made, "spec", "ports").([]any)
		require.Len(a, ports, 1)
		updated := a.expect(http.StatusOK, "PUT", services+"/s", service("s", "NodePort"))
		assert.Equal(a, made["spec"], updated["spec"])
		taken := a.with(service("t", "ClusterIP"), text(made, "spec", "clusterIP"), "spec", "clusterIP")
		a.refused(http.StatusUnprocessableEntity, "Invalid", "POST", services, taken)
		port := ports[0].(object)["nodePort"]
		taken = service("t", "NodePort")
		taken["spec"].(object)["ports"].([]any)[0].(object)["nodePort"] = port
		a.refused(http.StatusUnprocessableEntity, "Invalid", "POST", services, taken)
		a.expect(http.StatusOK, "DELETE", services+"/s", nil)
		a.expect(http.StatusCreated, "POST", services, taken)
		a.expect(http.StatusOK, "DELETE", services+"/t", nil)
	}},
}

// deployment is a deployment with nothing but what it needs.
func deployment(name string) object {
	d := replicaset(name, 1)
	d["kind"] = "Deployment"
	delete(d["spec"].(object), "replicas")
	return d
}

// service is a service of a type, with one port.
func service(name, kind string) object {
	return object{"apiVersion": "v1", "kind": "Service", "metadata": object{"name": name}, "spec": object{"type": kind, "ports": []any{object{"port": 80}}}}
}
