package reflector

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/informerkit/informerkit/internal/object"
)

// A source covers a namespace, or what its selectors select. An object from outside, which
// only a broken server or proxy sends, would stay in the sink for ever: no list of this
// source contains it, and no later event need be about it. So it is reported like an object
// that cannot be decoded, and what the sink has of it is deleted unless it is in another
// namespace, which may be another source's.

// errOutside is the cause of the [ObjectError] of an object from outside.
var errOutside = errors.New("the object is outside of what was asked for")

// outside returns ev with an error in place of its object.
func outside[T Object](ev WatchEvent[T], format string, args ...any) WatchEvent[T] {
	var none T
	obj := ev.Object
	ev.Object, ev.Err = none, &ObjectError{
		Key: object.KeyOf(obj), UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion(), Class: classOutside,
		Err: fmt.Errorf("%w: %s", errOutside, fmt.Sprintf(format, args...)),
	}
	return ev
}

// inNamespace returns ev, or an error in its place if its object is in another namespace
// than that of the source.
func inNamespace[T Object](ev WatchEvent[T], namespace string) WatchEvent[T] {
	if namespace == "" || ev.Err != nil || ev.Known != nil || object.IsNil(ev.Object) || ev.Object.GetNamespace() == namespace {
		return ev
	}
	return outside(ev, "it is in namespace %q, not in %q", ev.Object.GetNamespace(), namespace)
}

// selected returns a function that returns an event, or an error in its place if its object
// is not selected by what a client can compare: labels, name and namespace. A deletion may
// be that of an object which is not selected any more.
func selected[T Object](o metav1.ListOptions, own ResourceOptions) func(WatchEvent[T]) WatchEvent[T] {
	var byLabels []labels.Selector
	for _, s := range []string{own.LabelSelector, o.LabelSelector} {
		if sel, err := labels.Parse(s); err == nil && !sel.Empty() { // else it is the server's business
			byLabels = append(byLabels, sel)
		}
	}
	var byFields []fields.Requirement
	for _, s := range []string{own.FieldSelector, o.FieldSelector} {
		if sel, err := fields.ParseSelector(s); err == nil {
			byFields = append(byFields, sel.Requirements()...)
		}
	}
	return func(ev WatchEvent[T]) WatchEvent[T] {
		if ev.Err != nil || ev.Known != nil || ev.Type == watch.Deleted || object.IsNil(ev.Object) {
			return ev
		}
		for _, sel := range byLabels {
			if set := labels.Set(ev.Object.GetLabels()); !sel.Matches(set) {
				return outside(ev, "its labels are not %s", sel)
			}
		}
		for _, req := range byFields {
			value, known := map[string]string{"metadata.name": ev.Object.GetName(), "metadata.namespace": ev.Object.GetNamespace()}[req.Field]
			if known && (value == req.Value) == (req.Operator == selection.NotEquals) {
				return outside(ev, "its %s is %q, not %s%s", req.Field, value, req.Operator, req.Value)
			}
		}
		return ev
	}
}
