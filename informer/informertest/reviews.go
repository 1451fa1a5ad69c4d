package informertest

import (
	"maps"
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// review is a resource that answers a question and stores nothing.
type review struct {
	res    Resource
	answer func(*call) (runtime.Object, error)
}

// reviews are those of authentication and authorization.
var reviews = []review{
	{question("authentication.k8s.io", "SelfSubjectReview", true), (*call).whoAmI},
	{question("authentication.k8s.io", "TokenReview", true), (*call).reviewToken},
	{question("authorization.k8s.io", "LocalSubjectAccessReview", false), (*call).reviewLocalAccess},
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
	answer, err := rv.answer(cl)
	if err != nil {
		return err
	}
	obj, err := converter.ToUnstructured(answer)
	if err != nil {
		return err
	}
	question := &unstructured.Unstructured{Object: maps.Clone(obj)}
	delete(question.Object, "status")
	write := cl.writeOptions(nil, cl.r.URL.Query().Get("fieldManager"))
	trackUpdate(rv.res, nil, nil, question, write)
	setManagers(&unstructured.Unstructured{Object: obj}, takeManagers(question))
	return cl.answer(http.StatusCreated, obj)
}

// asked reads a question into its Go type.
func (cl *call) asked(into runtime.Object) error {
	obj, err := cl.object(cl.r.URL.Query().Get("fieldValidation"))
	if err != nil {
		return err
	}
	setManagers(obj, nil)
	return converter.FromUnstructured(obj.Object, into)
}

// reviewAccess answers a SubjectAccessReview: may this user do that?
func (cl *call) reviewAccess() (runtime.Object, error) {
	var q authorizationv1.SubjectAccessReview
	if err := cl.asked(&q); err != nil {
		return nil, err
	}
	if err := cl.checkSubject(q.Spec); err != nil {
		return nil, err
	}
	q.Status = cl.server.allowed(q.Spec)
	return &q, nil
}

// reviewLocalAccess answers a LocalSubjectAccessReview, which is about one namespace so
// that the right to ask can be granted per namespace.
func (cl *call) reviewLocalAccess() (runtime.Object, error) {
	var q authorizationv1.LocalSubjectAccessReview
	if err := cl.asked(&q); err != nil {
		return nil, err
	}
	if err := cl.checkSubject(q.Spec); err != nil {
		return nil, err
	}
	q.Status = cl.server.allowed(q.Spec)
	return &q, nil
}

// reviewOwnAccess answers a SelfSubjectAccessReview, the question behind kubectl auth
// can-i. The user is always the server's one requester.
func (cl *call) reviewOwnAccess() (runtime.Object, error) {
	var q authorizationv1.SelfSubjectAccessReview
	if err := cl.asked(&q); err != nil {
		return nil, err
	}
	if err := cl.checkAttributes(q.Spec.ResourceAttributes != nil, q.Spec.NonResourceAttributes != nil); err != nil {
		return nil, err
	}
	q.Status = cl.server.allowed(authorizationv1.SubjectAccessReviewSpec{
		ResourceAttributes: q.Spec.ResourceAttributes, NonResourceAttributes: q.Spec.NonResourceAttributes,
		User: requester.name, Groups: requester.groups,
	})
	return &q, nil
}

// reviewRules answers a SelfSubjectRulesReview, the question behind kubectl auth can-i
// --list. Without ReviewAccess everything is permitted.
func (cl *call) reviewRules() (runtime.Object, error) {
	var q authorizationv1.SelfSubjectRulesReview
	if err := cl.asked(&q); err != nil {
		return nil, err
	}
	all := []string{"*"}
	q.Status = authorizationv1.SubjectRulesReviewStatus{
		ResourceRules:    []authorizationv1.ResourceRule{{Verbs: all, APIGroups: all, Resources: all}},
		NonResourceRules: []authorizationv1.NonResourceRule{{Verbs: all, NonResourceURLs: all}},
		// A function that decides case by case cannot be listed as rules.
		Incomplete: cl.server.opts.ReviewAccess != nil,
	}
	return &q, nil
}

// whoAmI answers a SelfSubjectReview, the question behind kubectl auth whoami.
func (cl *call) whoAmI() (runtime.Object, error) {
	var q authenticationv1.SelfSubjectReview
	if err := cl.asked(&q); err != nil {
		return nil, err
	}
	q.CreationTimestamp = now()
	q.Status.UserInfo = authenticationv1.UserInfo{Username: requester.name, Groups: requester.groups}
	return &q, nil
}

// allowed asks the test, which allows everything unless it says otherwise.
func (s *Server) allowed(spec authorizationv1.SubjectAccessReviewSpec) authorizationv1.SubjectAccessReviewStatus {
	if s.opts.ReviewAccess == nil {
		return authorizationv1.SubjectAccessReviewStatus{Allowed: true}
	}
	allowed, reason := s.opts.ReviewAccess(spec)
	return authorizationv1.SubjectAccessReviewStatus{Allowed: allowed, Reason: reason}
}

// checkSubject refuses a question that names no subject or no action.
func (cl *call) checkSubject(spec authorizationv1.SubjectAccessReviewSpec) error {
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
