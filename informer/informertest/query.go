package informertest

import (
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// parameters decodes the options that requests carry in their query.
type parameters struct{ codec runtime.ParameterCodec }

// metaVersion is the version in whose form options are sent; any would do.
var metaVersion = schema.GroupVersion{Version: "v1"}

// newParameters returns a decoder of query parameters with the conversions that
// kube-apiserver registers, so that values are parsed as there.
func newParameters() parameters {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, metaVersion)
	utilruntime.Must(metav1.RegisterConversions(scheme))
	return parameters{runtime.NewParameterCodec(scheme)}
}

// decode fills a *metav1.ListOptions, *metav1.DeleteOptions, ... from a query.
func (p parameters) decode(query url.Values, into runtime.Object) error {
	if err := p.codec.DecodeParameters(query, metaVersion, into); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	return nil
}

// listQuery decodes and validates the options of a list or watch.
func (p parameters) listQuery(query url.Values, watchList bool) (listQuery, error) {
	var q listQuery
	if err := p.decode(query, &q.ListOptions); err != nil {
		return q, err
	}
	internal := internalversion.ListOptions{
		Watch:                q.Watch,
		ResourceVersion:      q.ResourceVersion,
		ResourceVersionMatch: q.ResourceVersionMatch,
		Limit:                q.Limit,
		Continue:             q.Continue,
		SendInitialEvents:    q.SendInitialEvents,
	}
	// A watch at no particular version begins with initial events as well.
	internalversion.SetListOptionsDefaults(&internal, watchList)
	if errs := validation.ValidateListOptions(&internal, watchList); len(errs) > 0 {
		return q, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", errs)
	}
	q.SendInitialEvents = internal.SendInitialEvents
	q.ResourceVersionMatch = internal.ResourceVersionMatch
	return q, nil
}
