package informertest

import (
	"maps"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// review is a resource that answers a question and stores nothing.
type review struct {
	res    Resource
	answer func(*call, *unstructured.Unstructured) (status map[string]any, err error)
}

// reviews are those of authentication and authorization.
var reviews = []review{
	{question("authentication.k8s.io", "SelfSubjectReview", true), (*call).whoAmI},
	{question("authentication.k8s.io", "TokenReview", true), (*call).reviewToken},
	{question("authorization.k8s.io", "LocalSubjectAccessReview", false), (*call).reviewAccess},
	{question("authorization.k8s.io", "SelfSubjectAccessReview", true), (*call).reviewOwnAccess},
	{question("authorization.k8s.io", "SelfSubjectRulesReview", true), (*call).reviewRules},
	{question("authorization.k8s.io", "SubjectAccessReview", true), (*call).reviewAccess},
}

// question describes a resource that can only be created.
func question(group, kind string, cluster bool) Resource {
	res, _ := Resource{Group: group, Versions: []string{"v1"}, Kind: kind, ClusterScoped: cluster, NoGeneration: true}.complete() // it is complete
	res.question, res.fields = true, &fieldTypes{}
	return res
}

// reviewOf finds the review that a path names.
func reviewOf(t target) (review, bool) {
	for _, rv := range reviews {
		if rv.res.Group == t.group && rv.res.Plural == t.resource && rv.res.serves(t.version) {
			return rv, t.name == "" && (t.namespace == "") == rv.res.ClusterScoped
		}
	}
	return review{}, false
}

// serve answers the question.
func (rv review) serve(cl *call, verb string) error {
	if verb != "create" {
		return errMethod()
	}
	asked, err := cl.object(cl.r.URL.Query().Get("fieldValidation"))
	if err != nil {
		return err
	}
	setManagers(asked, nil)
	status, err := rv.answer(cl, asked)
	if err != nil {
		return err
	}
	asked.Object["status"] = status
	question := &unstructured.Unstructured{Object: maps.Clone(asked.Object)}
	delete(question.Object, "status")
	write := cl.writeOptions(nil, cl.r.URL.Query().Get("fieldManager"))
	trackUpdate(rv.res, nil, nil, question, write)
	setManagers(asked, takeManagers(question))
	return cl.answer(http.StatusCreated, asked.Object)
}

// specOf reads the specification of a question.
func specOf[T any](question *unstructured.Unstructured) (T, error) {
	var into struct {
		Spec T `json:"spec"`
	}
	err := converter.FromUnstructured(question.Object, &into)
	return into.Spec, err
}

// reviewAccess answers a SubjectAccessReview: may this user do that? It also answers a
// LocalSubjectAccessReview, which is about one namespace so that the right to ask can be
// granted per namespace.
func (cl *call) reviewAccess(question *unstructured.Unstructured) (map[string]any, error) {
	spec, err := specOf[AccessReview](question)
	if err != nil {
		return nil, err
	}
	if err := cl.checkSubject(spec); err != nil {
		return nil, err
	}
	return cl.server.allowed(spec), nil
}

// reviewOwnAccess answers a SelfSubjectAccessReview, the question behind kubectl auth
// can-i. The user is always the server's one requester.
func (cl *call) reviewOwnAccess(question *unstructured.Unstructured) (map[string]any, error) {
	spec, err := specOf[AccessReview](question)
	if err != nil {
		return nil, err
	}
	if err := cl.checkAttributes(spec.ResourceAttributes != nil, spec.NonResourceAttributes != nil); err != nil {
		return nil, err
	}
	spec.User, spec.Groups = requester.name, requester.groups
	return cl.server.allowed(spec), nil
}

// reviewRules answers a SelfSubjectRulesReview, the question behind kubectl auth can-i
// --list. Without ReviewAccess everything is permitted.
func (cl *call) reviewRules(*unstructured.Unstructured) (map[string]any, error) {
	all := []any{"*"}
	return map[string]any{
		"resourceRules":    []any{map[string]any{"verbs": all, "apiGroups": all, "resources": all}},
		"nonResourceRules": []any{map[string]any{"verbs": all, "nonResourceURLs": all}},
		// A function that decides case by case cannot be listed as rules.
		"incomplete": cl.server.opts.ReviewAccess != nil,
	}, nil
}

// whoAmI answers a SelfSubjectReview, the question behind kubectl auth whoami.
func (cl *call) whoAmI(question *unstructured.Unstructured) (map[string]any, error) {
	question.SetCreationTimestamp(now())
	return map[string]any{"userInfo": map[string]any{"username": requester.name, "groups": anySlice(requester.groups)}}, nil
}

// anySlice is a list of strings as unstructured objects have it.
func anySlice(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

// allowed asks the test, which allows everything unless it says otherwise.
func (s *Server) allowed(spec AccessReview) map[string]any {
	if s.opts.ReviewAccess == nil {
		return map[string]any{"allowed": true}
	}
	allowed, reason := s.opts.ReviewAccess(spec)
	status := map[string]any{"allowed": allowed}
	if reason != "" {
		status["reason"] = reason
	}
	return status
}

// checkSubject refuses a question that names no subject or no action.
func (cl *call) checkSubject(spec AccessReview) error {
	if err := cl.checkAttributes(spec.ResourceAttributes != nil, spec.NonResourceAttributes != nil); err != nil {
		return err
	}
	if spec.User == "" && len(spec.Groups) == 0 {
		return cl.invalid(field.Invalid(field.NewPath("spec", "user"), spec.User, "at least one of user or group must be specified"))
	}
	return nil
}

// checkAttributes refuses a question that is not about one thing.
func (cl *call) checkAttributes(resource, other bool) error {
	path := field.NewPath("spec", "resourceAttributes")
	switch {
	case resource && other:
		return cl.invalid(field.Invalid(path.Root().Child("nonResourceAttributes"), "", "cannot be specified in combination with resourceAttributes"))
	case !resource && !other:
		return cl.invalid(field.Invalid(path, "", "exactly one of nonResourceAttributes or resourceAttributes must be specified"))
	}
	return nil
}

// invalid is the answer to a review that asks for both kinds of access or for none:
// 422, without a name, as reviews have none.
func (cl *call) invalid(err *field.Error) error {
	return apierrors.NewInvalid(schema.GroupKind{Group: cl.res.Group, Kind: cl.res.Kind}, "", field.ErrorList{err})
}

// questionVerbs are what such a resource can do.
var questionVerbs = metav1.Verbs{"create"}
