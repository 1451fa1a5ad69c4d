package conformance

import (
	"net/http"
	"strings"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// words is a set of the words in a text.
func words(text string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(text) {
		set[w] = true
	}
	return set
}

var (
	// hasStatus are the kinds with a status of their own, by the names in
	// testdata/minimal.yaml up to a dash.
	hasStatus = words("pod service persistentvolumeclaim persistentvolume replicationcontroller resourcequota node namespace deployment replicaset " +
		"statefulset daemonset job cronjob ingress poddisruptionbudget horizontalpodautoscaler volumeattachment certificatesigningrequest")
	// putMakes are the kinds that a PUT to a new name creates.
	putMakes = words("service endpoints limitrange event lease role rolebinding clusterrole clusterrolebinding runtimeclass")
	// needVersion are the kinds whose update must state a version.
	needVersion = words("lease poddisruptionbudget csidriver csinode volumeattachment validatingwebhookconfiguration mutatingwebhookconfiguration runtimeclass things")
)

// kindOf is the first word of a name in testdata/minimal.yaml.
func kindOf(name string) string {
	kind, _, _ := strings.Cut(strings.ReplaceAll(name, ".", "-"), "-")
	return kind
}

// kindTests are about what differs from one built-in kind to the next.
var kindTests = []test{
	{"TheStatusEndpointWritesSomeMetadata", func(a *api) {
		a.minimal(func(name, path string, stored object) {
			kind := kindOf(name)
			if kind == "things" || kind == "event" {
				return
			}
			sent := stored
			for _, field := range []string{"labels", "annotations"} {
				sent = a.with(sent, "x", "metadata", field, "probe")
			}
			ans := a.do("PUT", path+"/status", sent)
			if !hasStatus[kind] {
				assert.Equal(a, http.StatusNotFound, ans.Code, name)
				return
			}
			require.Equal(a, http.StatusOK, ans.Code, "%s: %s", name, ans.Raw)
			assert.Equal(a, kind != "deployment" && kind != "volumeattachment", text(ans.Object, "metadata", "labels", "probe") == "x", "labels of %s", name)
			assert.Equal(a, kind != "volumeattachment", text(ans.Object, "metadata", "annotations", "probe") == "x", "annotations of %s", name)
		})
	}},
	{"SomeKindsAreCreatedByPut", func(a *api) {
		for _, o := range a.minimalDocuments() {
			kind := kindOf(nameOf(o))
			if kind == "things" || kind == "event" {
				continue
			}
			path := a.collectionOf(o)
			at := path + "/put-" + nameOf(o) + "-" + a.ns
			metadata(o)["name"] = "put-" + nameOf(o) + "-" + a.ns
			ans := a.do("PUT", at, o)
			want := http.StatusNotFound
			if putMakes[kind] {
				want = http.StatusCreated
			}
			assert.Equal(a, want, ans.Code, "%s: %s", kind, ans.Raw)
			a.do("DELETE", at+"?gracePeriodSeconds=0&propagationPolicy=Background", nil)
		}
	}},
	{"SomeKindsAreUpdatedOnlyAtAVersion", func(a *api) {
		a.minimal(func(name, path string, stored object) {
			ans := a.do("PUT", path, without(stored, "metadata", "resourceVersion"))
			if !needVersion[kindOf(name)] {
				assert.Equal(a, http.StatusOK, ans.Code, "%s: %s", name, ans.Raw)
				return
			}
			require.Equal(a, http.StatusUnprocessableEntity, ans.Code, "%s: %s", name, ans.Raw)
			assert.Contains(a, ans.Object["message"], "metadata.resourceVersion: Invalid value: 0: must be specified for an update", name)
		})
	}},
	{"FieldsThatAreSetForGood", func(a *api) {
		for _, c := range frozen {
			a.frozen(c)
		}
	}},
	{"ASealedConfigMapStays", func(a *api) {
		sealed := a.with(configmap("a"), true, "immutable")
		a.expect(http.StatusCreated, "POST", a.configmaps(), sealed)
		status := a.refused(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "PUT", a.configmaps("a"), a.with(configmap("a"), "w", "data", "k"))
		assert.Equal(a, "ConfigMap \"a\" is invalid: [immutable: Forbidden: field is immutable when `immutable` is set, data: Forbidden: field is immutable when `immutable` is set]", status.Message)
		a.expect(http.StatusOK, "PUT", a.configmaps("a"), a.with(sealed, "x", "metadata", "labels", "l"))
	}},
}

// change is an update of a stored minimal object: the value that it writes at a
// path, and the field that an answer 422 names; "" if the update is allowed.
type change struct {
	name, path string
	value      any
	field      string
}

var frozen = []change{
	{"deployment", "spec.selector.matchLabels.x", "y", "spec.selector"},
	{"deployment", "spec.replicas", 3, ""},
	{"replicaset", "spec.selector.matchLabels.x", "y", "spec.selector"},
	{"daemonset", "spec.selector.matchLabels.x", "y", "spec.selector"},
	{"statefulset", "spec.serviceName", "z", "spec"},
	{"statefulset", "spec.replicas", 3, ""},
	{"job", "spec.completions", 3, "spec.completions"},
	{"job", "spec.completionMode", "Indexed", "spec.completionMode"},
	{"job", "spec.template.spec.schedulerName", "z", "spec.template"},
	{"job", "spec.backoffLimit", 3, ""},
	{"job-indexed", "spec.completions", 3, "spec.completions"},
	{"secret", "type", "z", "type"},
	{"pod", "spec.nodeName", "z", "spec"},
	{"pod", "spec.restartPolicy", "Never", "spec"},
	{"pod", "spec.activeDeadlineSeconds", 9, ""},
	{"pod-details", "spec.tolerations", []any{}, "spec.tolerations"},
	{"persistentvolumeclaim", "spec.accessModes", []any{"ReadOnlyMany"}, "spec"},
	{"persistentvolumeclaim", "spec.storageClassName", "x", ""},
	{"persistentvolume", "spec.hostPath.path", "/y", "spec.persistentvolumesource"},
	{"persistentvolume", "spec.persistentVolumeReclaimPolicy", "Delete", ""},
	{"service", "spec.clusterIP", "10.0.0.77", "spec.clusterIPs[0]"},
	{"storageclass", "provisioner", "z", "provisioner"},
	{"storageclass", "reclaimPolicy", "Retain", "reclaimPolicy"},
	{"rolebinding", "roleRef.name", "z", "roleRef"},
	{"clusterrolebinding", "roleRef.name", "z", "roleRef"},
	{"ingressclass", "spec.controller", "example.test/z", "spec.controller"},
	{"priorityclass", "value", 3, "value"},
	{"priorityclass", "preemptionPolicy", "Never", "preemptionPolicy"},
	{"endpointslice", "addressType", "IPv6", "addressType"},
	{"controllerrevision", "data.x", "y", "data"},
	{"runtimeclass", "handler", "z", "handler"},
	{"volumeattachment", "spec.attacher", "z", "spec"},
}

// frozen carries out a change of an object that it makes and removes.
func (a *api) frozen(c change) {
	a.Helper()
	for _, o := range a.minimalDocuments() {
		if nameOf(o) != c.name {
			continue
		}
		path, name := a.collectionOf(o), "f-"+c.name+"-"+a.ns
		metadata(o)["name"] = name
		stored := a.expect(http.StatusCreated, "POST", path, o)
		sent := a.with(stored, c.value, strings.Split(c.path, ".")...)
		if c.path == "spec.clusterIP" {
			sent = a.with(sent, []any{c.value}, "spec", "clusterIPs")
		}
		ans := a.do("PUT", path+"/"+name, sent)
		if c.field == "" {
			assert.Equal(a, http.StatusOK, ans.Code, "%s %s: %s", c.name, c.path, ans.Raw)
		} else if assert.Equal(a, http.StatusUnprocessableEntity, ans.Code, "%s %s: %s", c.name, c.path, ans.Raw) {
			var fields []string
			causes, _ := value(ans.Object, "details", "causes").([]any)
			for _, cause := range causes {
				fields = append(fields, asString(cause.(object)["field"]))
			}
			assert.Contains(a, fields, c.field, "%s %s: %s", c.name, c.path, ans.Raw)
		}
		a.do("PATCH", path+"/"+name, raw(`{"metadata":{"finalizers":null}}`), mergePatch)
		a.do("DELETE", path+"/"+name+"?gracePeriodSeconds=0&propagationPolicy=Background", nil)
	}
}
