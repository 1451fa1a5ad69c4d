package informertest

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// rbacVerbs are the verbs of RBAC, in the order in which people write them.
var rbacVerbs = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}

// Role returns, in YAML, the role with the fewest rights for the requests so far that of selects, all if it
// is nil: a Role if all of them are in one namespace, else a ClusterRole. A test prints it to begin a
// manifest, or compares it with one, so that the manifest grants what the controller needs and no more.
// To leave out the requests of the test itself, give the controller's configuration a UserAgent of its own.
//
// Who watches may list, too: a reflector lists where the server cannot stream a list. Some rights leave no
// trace in the requests: create, for an apply that creates; the names of objects, to which a rule can be
// restricted; and, to create a RoleBinding, bind or all rights of its role. Only the latest
// 10,000 requests count.
//
// Included are the rights that the admission plugin OwnerReferencesPermissionEnforcement asks for (it is on by default in
// OpenShift): update on the finalizers of an owner, for a new owner reference with blockOwnerDeletion, and delete on an
// existing object whose owner references change.
func (s *Server) Role(name string, of func(r Request) bool) string {
	type resource struct{ group, name string }
	rights, namespaces := map[resource][]string{}, map[string]bool{}
	s.log.mu.Lock()
	requests := slices.Concat(s.log.recent, s.log.checked)
	s.log.mu.Unlock()
	for _, r := range requests {
		if of != nil && !of(r) {
			continue
		}
		used := resource{r.Group, r.Resource}
		if r.Subresource != "" {
			used.name += "/" + r.Subresource
		}
		rights[used] = append(rights[used], r.Verb)
		if r.Verb == "watch" {
			rights[used] = append(rights[used], "list")
		}
		namespaces[r.Namespace] = true
	}
	kind, metadata := "ClusterRole", "name: "+name
	if len(namespaces) == 1 && !namespaces[""] {
		kind, metadata = "Role", metadata+", namespace: "+slices.Collect(maps.Keys(namespaces))[0]
	}
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: rbac.authorization.k8s.io/v1\nkind: %s\nmetadata: {%s}\nrules:\n", kind, metadata)
	resources := slices.SortedFunc(maps.Keys(rights), func(x, y resource) int {
		return cmp.Or(cmp.Compare(x.group, y.group), cmp.Compare(x.name, y.name))
	})
	for _, r := range resources {
		verbs := slices.DeleteFunc(slices.Clone(rbacVerbs), func(verb string) bool { return !slices.Contains(rights[r], verb) })
		fmt.Fprintf(&b, "  - {apiGroups: [%s], resources: [%s], verbs: [%s]}\n", cmp.Or(r.group, `""`), r.name, strings.Join(verbs, ", "))
	}
	return b.String()
}

// owned records the rights that a change of the owner references of an object needs.
func (cl *call) owned(created bool, before, after []metav1.OwnerReference) {
	if slices.EqualFunc(before, after, func(a, b metav1.OwnerReference) bool { return reflect.DeepEqual(a, b) }) {
		return
	}
	right := Request{
		Verb: "delete", Group: cl.target.group, Version: cl.target.version, Resource: cl.target.resource, Namespace: cl.target.namespace,
		Name: cl.target.name, UserAgent: cl.r.UserAgent(), Time: time.Now(),
	}
	if !created {
		cl.server.log.check(right)
	}
	for _, ref := range after {
		blocks := func(have metav1.OwnerReference) bool {
			return have.UID == ref.UID && have.BlockOwnerDeletion != nil && *have.BlockOwnerDeletion
		}
		if !blocks(ref) || slices.ContainsFunc(before, blocks) {
			continue
		}
		owner, err := cl.server.store.byKind(schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind), ref.Kind)
		if err != nil {
			continue // a kind that the server does not have
		}
		right.Verb, right.Group, right.Version, right.Resource = "update", owner.res.Group, owner.version, owner.res.Plural
		right.Subresource, right.Name = "finalizers", ref.Name
		if owner.res.ClusterScoped {
			right.Namespace = ""
		}
		cl.server.log.check(right)
	}
}
