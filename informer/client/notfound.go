package client

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// elsewhere is a 404 that tells nothing about the object: its resource, subresource or namespace does not
// exist, or something in front of the API server responded. It satisfies apierrors.IsNotFound as well.
type elsewhere struct {
	error
	why string
}

func (e *elsewhere) Error() string { return e.error.Error() + ": " + e.why }

func (e *elsewhere) Unwrap() error { return e.error }

// IgnoreNotFound returns nil if err reports that an object does not exist, and err otherwise. Any other 404 stays
// an error: without a resource, a subresource, a namespace or a name, or from a gateway, it tells nothing
// about the object. So does an object that exists and cannot be read.
func IgnoreNotFound(err error) error {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || errors.As(err, new(*elsewhere)) || !errors.As(err, &status) ||
		apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) || status.Status().Details == nil || status.Status().Details.Name == "" {
		return err
	}
	return nil
}

// aboutObject returns err, or an [elsewhere] if it is a 404 that is not about the object of the call. A Status
// names what it is about.
func (c *Client[T]) aboutObject(err error, call call) error {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return err
	}
	about := cmp.Or(status.Status().Details, &metav1.StatusDetails{})
	kind := strings.EqualFold(about.Kind, c.resource.Resource) || strings.EqualFold(about.Kind, c.kind.Kind)
	switch creates := call.verb == http.MethodPost && c.opts.Subresource == ""; {
	case apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		return &elsewhere{err, fmt.Sprintf("the server does not serve %s, or the response is that of a gateway in front of it", c.resource.GroupVersion().WithResource(c.resource.Resource).String())}
	case !creates && !call.list && about.Name == call.key.Name && (kind || about.Kind == ""):
		return err
	case about.Name != "":
		return &elsewhere{err, fmt.Sprintf("%s %q does not exist", about.Kind, about.Name)}
	case call.key.Namespace == "" && !call.list:
		return &elsewhere{err, "the key has no namespace; is the resource in namespaces?"}
	}
	return &elsewhere{err, fmt.Sprintf("does the server serve %s in %s, in namespaces, with the subresource %q?", c.resource.Resource, c.resource.GroupVersion(), c.opts.Subresource)}
}
