package manager

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// compared are the kinds of which all objects are compared.
var compared = []schema.GroupVersionResource{
	{Version: "v1", Resource: "pods"}, {Version: "v1", Resource: "services"}, {Version: "v1", Resource: "serviceaccounts"},
	{Version: "v1", Resource: "configmaps"}, {Version: "v1", Resource: "resourcequotas"}, {Version: "v1", Resource: "namespaces"},
	{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"},
	{Group: "apps", Version: "v1", Resource: "deployments"}, {Group: "apps", Version: "v1", Resource: "replicasets"},
	{Group: "apps", Version: "v1", Resource: "statefulsets"}, {Group: "apps", Version: "v1", Resource: "controllerrevisions"},
	{Group: "batch", Version: "v1", Resource: "jobs"}, {Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"},
}

// state counts objects, and events by reason, by their text without what is random.
type state struct{ objects, events map[string]int }

// stateOf reads the namespaces with a prefix.
func stateOf(ctx context.Context, client dynamic.Interface, prefix string) (state, error) {
	s := state{map[string]int{}, map[string]int{}}
	read := func(resource schema.GroupVersionResource, visit func(*unstructured.Unstructured)) error {
		list, err := client.Resource(resource).List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("manager: reading %s: %w", resource.Resource, err)
		}
		for i := range list.Items {
			if obj := &list.Items[i]; strings.HasPrefix(obj.GetNamespace()+obj.GetName(), prefix) {
				visit(obj)
			}
		}
		return nil
	}
	for _, resource := range compared {
		if err := read(resource, func(obj *unstructured.Unstructured) { s.objects[normal(obj, prefix)]++ }); err != nil {
			return s, err
		}
	}
	return s, read(schema.GroupVersionResource{Version: "v1", Resource: "events"}, func(obj *unstructured.Unstructured) {
		kind, _, _ := unstructured.NestedString(obj.Object, "involvedObject", "kind")
		reason, _, _ := unstructured.NestedString(obj.Object, "reason")
		count, _, _ := unstructured.NestedInt64(obj.Object, "count")
		s.events[kind+" "+reason] += int(max(count, 1))
	})
}

// What is random in an object's text, and what takes its place.
var random = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "TIME"},
	{regexp.MustCompile(`"10\.0\.0\.\d+"`), `"ADDRESS"`},
}

// normal is the text of an object without what is random.
func normal(obj *unstructured.Unstructured, prefix string) string {
	obj = obj.DeepCopy()
	if made := obj.GetGenerateName(); made != "" {
		obj.SetName(made + "*")
	}
	for _, field := range []string{"uid", "resourceVersion", "managedFields", "creationTimestamp"} {
		unstructured.RemoveNestedField(obj.Object, "metadata", field)
	}
	text, err := json.Marshal(obj.Object)
	if err != nil {
		return err.Error()
	}
	out := strings.ReplaceAll(string(text), prefix, "run-")
	for _, r := range random {
		out = r.pattern.ReplaceAllString(out, r.by)
	}
	return out
}

// difference lists what is in one of two counts only, or more often.
func difference(a, b map[string]int) (lines []string) {
	all := maps.Clone(a)
	maps.Copy(all, b)
	for _, text := range slices.Sorted(maps.Keys(all)) {
		if a[text] != b[text] {
			lines = append(lines, fmt.Sprintf("%d and %d times: %s", a[text], b[text], text))
		}
	}
	return lines
}
