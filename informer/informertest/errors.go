package informertest

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/informer/informertest/internal/builtin"
)

// statusOf returns the body that states an error to a client.
func statusOf(err error) metav1.Status {
	st, ok := err.(apierrors.APIStatus)
	if !ok {
		st = apierrors.NewInternalError(err)
	}
	status := st.Status()
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	return status
}

// errUnknownPath is the answer for a path that names nothing.
func errUnknownPath() error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusNotFound,
		Reason:  metav1.StatusReasonNotFound,
		Message: "the server could not find the requested resource",
		Details: &metav1.StatusDetails{},
	}}
}

// errMethod is the answer to a method that a path does not have.
func errMethod() error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusMethodNotAllowed,
		Reason:  metav1.StatusReasonMethodNotAllowed,
		Message: "the server does not allow this method on the requested resource",
		Details: &metav1.StatusDetails{},
	}}
}

// errExpiredWatch is what a watch from a forgotten version gets, as an event.
func errExpiredWatch(rv, compacted uint64) error {
	return apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", rv, compacted))
}

// errExpiredList is the answer to a list at a forgotten version.
func errExpiredList() error {
	return apierrors.NewResourceExpired("The provided resource version is no longer available: it has been compacted.")
}

// errExpiredContinue is the answer to a continue token whose version is
// forgotten. Like the API server's it carries a token with which a client that
// accepts an inconsistent list may go on.
func errExpiredContinue(next string) error {
	err := apierrors.NewResourceExpired("The provided continue parameter is too old to display a consistent list result. " +
		"Start a new list without the continue parameter, or use the continue token of this response to go on with an inconsistent one.")
	err.ErrStatus.ListMeta.Continue = next
	return err
}

// errTooLarge is the answer to a version that the server has not reached.
func errTooLarge(rv, current uint64) error {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", rv, current), 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type:    metav1.CauseTypeResourceVersionTooLarge,
		Message: "Too large resource version",
	}}
	return err
}

// errVersionOnCreate is the answer to a new object that states a version. The
// API server has no better name for it either.
func errVersionOnCreate() error {
	return errUnclassified(errors.New("resourceVersion should not be set on objects to be created"))
}

// errUnclassified is the answer for an error for which the API server has no
// reason.
func errUnclassified(err error) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusInternalServerError,
		Message: err.Error(),
	}}
}

// errModified is the conflict of optimistic locking.
func errModified(gr schema.GroupResource, name string) error {
	return apierrors.NewConflict(gr, name, fmt.Errorf("the object has been modified; please apply your changes to the latest version and try again"))
}

// errPrecondition is the conflict of a UID that a request insists on.
func errPrecondition(gr schema.GroupResource, name, where, want, have string) error {
	return apierrors.NewConflict(gr, name, fmt.Errorf("%sPrecondition failed: UID in precondition: %v, UID in object meta: %v", where, want, have)) //nolint:revive,staticcheck // the API server's words
}

// errDeletePrecondition is the conflict of a precondition of a deletion.
func errDeletePrecondition(gvk schema.GroupVersionKind, name, field, want, have, hint string) error {
	return apierrors.NewConflict(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, name,
		fmt.Errorf("the %s in the precondition (%s) does not match the %s in record (%s). The object might have been %s", field, want, field, have, hint)) //nolint:revive,staticcheck // the API server's words
}

// errUndecodable is the answer to a body that cannot be read as the wanted kind. have is
// what it says of its kind itself.
func errUndecodable(err error, have *schema.GroupVersionKind, want schema.GroupVersionKind, body []byte) error {
	if have != nil && have.Kind != "" {
		return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", have.Kind, have.Version, want.Kind, err))
	}
	summary := "<empty>"
	switch {
	case len(body) > 0 && body[0] == '{':
		summary = string(body[:min(len(body), 30)])
	case len(body) > 0:
		summary = hex.EncodeToString(body[:min(len(body), 30)])
	}
	if len(body) > 30 {
		summary += " ..."
	}
	return apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v (%s)", want.Kind, err, summary))
}

// errOtherKind is the answer to an object of another kind than the path names.
func errOtherKind(have, want schema.GroupVersionKind) error {
	internal := func(kind schema.GroupVersionKind) string { // where the API server keeps the kind's own Go type
		group, _, _ := strings.Cut(kind.Group, ".")
		return cmp.Or(group, "core") + "." + kind.Kind
	}
	switch known := builtin.Known(have); {
	case !known && typed(want):
		return errUndecodable(runtime.NewNotRegisteredErrForKind("pkg/runtime/scheme.go:111", have), &have, want, nil)
	case have.GroupVersion() != want.GroupVersion() || !typed(want):
		return apierrors.NewBadRequest(fmt.Sprintf("the API version in the data (%s) does not match the expected API version (%s)", have.GroupVersion(), want.GroupVersion()))
	}
	return errUndecodable(fmt.Errorf("converting (%s.%s) to (%s): unknown conversion", have.Version, have.Kind, internal(want)), &have, want, nil)
}

// errUnsupportedMedia is the answer to a body of a kind that is not understood.
func errUnsupportedMedia(supported string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusUnsupportedMediaType,
		Reason:  metav1.StatusReasonUnsupportedMediaType,
		Message: "the body of the request was in an unknown format - accepted media types include: " + supported,
	}}
}

// errNoProtobuf is the answer to a protobuf body of a built-in kind, if the server has not
// been given Go types to read it into.
func errNoProtobuf(gvk schema.GroupVersionKind) error {
	err := errUnsupportedMedia(mediaJSON + ", " + mediaYAML).(*apierrors.StatusError)
	err.ErrStatus.Message += fmt.Sprintf("; to read %s in protobuf, this server needs its Go type: informertest.Options{Scheme: scheme.Scheme}, of k8s.io/client-go/kubernetes/scheme", gvk)
	return err
}

// errUnsupportedPatch is the answer to a patch of a kind that the resource does not have.
func errUnsupportedPatch(res Resource) error {
	if res.RequireResourceVersion {
		return errUnsupportedMedia("application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml")
	}
	err := errUnsupportedMedia("").(*apierrors.StatusError)
	err.ErrStatus.Message, err.ErrStatus.Details = "415: Unsupported Media Type", &metav1.StatusDetails{}
	return err
}

// errNotAcceptable is the answer to an Accept header that cannot be met.
func errNotAcceptable(supported string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusNotAcceptable,
		Reason:  metav1.StatusReasonNotAcceptable,
		Message: "only the following media types are accepted: " + supported,
	}}
}
