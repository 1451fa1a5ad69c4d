package informertest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// subresource is a part of an object, or an action on it, with a path of its own.
type subresource struct {
	name string
	// kind is what is sent and received; empty if that is the object itself.
	kind schema.GroupVersionKind
	// serve are the verbs. Those of an object's part are carried out as for the
	// object, by copy.
	serve map[string]func(*call) error
	// copy takes over what an update through the subresource may change.
	copy func(res Resource, from, to *unstructured.Unstructured)
}

// part is a subresource that shows the object and writes some of it.
func part(name string, copy func(res Resource, from, to *unstructured.Unstructured)) subresource {
	return subresource{name: name, copy: copy, serve: map[string]func(*call) error{
		"get": (*call).get, "update": (*call).update, "patch": (*call).patch,
	}}
}

// action is a subresource that something is sent to.
func action(name string, kind schema.GroupVersionKind, create func(*call) error) subresource {
	return subresource{name: name, kind: kind, serve: map[string]func(*call) error{"create": create}}
}

// subresources returns what the objects of a resource have besides themselves,
// by name.
func subresources(res Resource) []subresource {
	var subs []subresource
	if res.StatusSubresource {
		subs = append(subs, part("status", copyStatus))
	}
	if res.scalePaths() != nil {
		subs = append(subs, scaleSubresource())
	}
	switch res.groupResource() {
	case schema.GroupResource{Resource: "pods"}:
		subs = append(subs,
			action("binding", schema.GroupVersionKind{Version: "v1", Kind: "Binding"}, (*call).bind),
			part("ephemeralcontainers", copyEphemeral),
			action("eviction", schema.GroupVersionKind{Group: "policy", Version: "v1", Kind: "Eviction"}, (*call).evict),
			part("resize", copyResources))
	case schema.GroupResource{Resource: "serviceaccounts"}:
		subs = append(subs, action("token", schema.GroupVersionKind{Group: "authentication.k8s.io", Version: "v1", Kind: "TokenRequest"}, (*call).issueToken))
	case namespaces:
		finalize := part("finalize", copyFinalizers)
		delete(finalize.serve, "get")
		delete(finalize.serve, "patch")
		subs = append(subs, finalize)
	case schema.GroupResource{Group: "certificates.k8s.io", Resource: "certificatesigningrequests"}:
		subs = append(subs, part("approval", copyApproval))
	}
	slices.SortFunc(subs, func(a, b subresource) int { return strings.Compare(a.name, b.name) })
	return subs
}

// subresourceOf finds a subresource; that of the name "" is the object itself.
func subresourceOf(res Resource, name string) (subresource, bool) {
	if name == "" {
		return subresource{}, true
	}
	for _, s := range subresources(res) {
		if s.name == name {
			return s, true
		}
	}
	return subresource{}, false
}

// leftOut are the subresources that need something running behind the server.
var leftOut = map[schema.GroupResource][]string{
	{Resource: "pods"}:     {"attach", "exec", "log", "portforward", "proxy"},
	{Resource: "services"}: {"proxy"},
	{Resource: "nodes"}:    {"proxy"},
}

// errLeftOut answers for a subresource that a cluster has and this server has not.
func errLeftOut(res Resource, name string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusNotImplemented,
		Reason:  "NotImplemented",
		Message: fmt.Sprintf("informertest does not serve %s/%s: no container runs behind this server; use a fault such as Respond to answer such requests in a test", res.Plural, name),
	}}
}

// errNoSubresource is the answer for a subresource that is not served.
func errNoSubresource(res Resource, name string) error {
	if slices.Contains(leftOut[res.groupResource()], name) {
		return errLeftOut(res, name)
	}
	return errUnknownPath()
}

// serveSubresource carries a request to a subresource out.
func (cl *call) serveSubresource(sub subresource, verb string) error {
	serve, ok := sub.serve[verb]
	if !ok {
		return errMethod()
	}
	return serve(cl)
}

// as returns the call as one about another kind, which is what its body holds and
// its answer shows.
func (cl *call) as(kind schema.GroupVersionKind) (*call, error) {
	other := *cl
	other.res = Resource{Group: kind.Group, Versions: []string{kind.Version}, Kind: kind.Kind, Plural: cl.res.Plural, ClusterScoped: cl.res.ClusterScoped, NoGeneration: true}
	other.target.version = kind.Version
	vw, err := negotiate(cl.r, other.res, kind.Version, cl.server.types())
	other.view = vw
	return &other, err
}

// answer sends an object that is not stored.
func (cl *call) answer(code int, obj map[string]any) error {
	v, err := newVersion(cl.res, &unstructured.Unstructured{Object: obj}, 0)
	if err != nil {
		return err
	}
	return cl.respond(code, v)
}

// succeed answers that an action was carried out.
func (cl *call) succeed() error {
	return writeJSON(cl.w, http.StatusCreated, metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess, Code: http.StatusCreated,
	})
}

// copyStatus is what the status endpoint writes.
func copyStatus(res Resource, from, to *unstructured.Unstructured) {
	copyMember(from, to, "status")
	copyStatusMetadata(res, from, to)
}

// copyApproval is what the approver of a certificate signing request writes.
func copyApproval(_ Resource, from, to *unstructured.Unstructured) {
	conditions, found, _ := unstructured.NestedSlice(from.Object, "status", "conditions")
	if found {
		_ = unstructured.SetNestedSlice(to.Object, conditions, "status", "conditions")
	}
}

// copyFinalizers is what ends the deletion of a namespace.
func copyFinalizers(_ Resource, from, to *unstructured.Unstructured) {
	if left := namespaceFinalizers(from); len(left) > 0 {
		_ = unstructured.SetNestedStringSlice(to.Object, left, "spec", "finalizers")
	} else {
		unstructured.RemoveNestedField(to.Object, "spec", "finalizers")
	}
}

// copyEphemeral is what kubectl debug writes.
func copyEphemeral(_ Resource, from, to *unstructured.Unstructured) {
	list, found, _ := unstructured.NestedSlice(from.Object, "spec", "ephemeralContainers")
	if unstructured.RemoveNestedField(to.Object, "spec", "ephemeralContainers"); found {
		_ = unstructured.SetNestedSlice(to.Object, list, "spec", "ephemeralContainers")
	}
}

// copyResources is what resizes the containers of a running pod.
func copyResources(_ Resource, from, to *unstructured.Unstructured) {
	sizes := map[any]any{}
	list, _, _ := unstructured.NestedSlice(from.Object, "spec", "containers")
	for _, c := range list {
		if c, ok := c.(map[string]any); ok {
			sizes[c["name"]] = c["resources"]
		}
	}
	list, _, _ = unstructured.NestedSlice(to.Object, "spec", "containers")
	for _, c := range list {
		if c, ok := c.(map[string]any); ok && sizes[c["name"]] != nil {
			c["resources"] = sizes[c["name"]]
		}
	}
	_ = unstructured.SetNestedSlice(to.Object, list, "spec", "containers")
}
