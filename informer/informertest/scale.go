package informertest

import (
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// scaleKind is what all kinds that can be scaled show and accept.
var scaleKind = schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}

// scaleSubresource shows an object as a Scale.
func scaleSubresource() subresource {
	return subresource{name: "scale", kind: scaleKind, serve: map[string]func(*call) error{
		"get": (*call).getScale, "update": (*call).updateScale, "patch": (*call).patchScale,
	}}
}

// scalePaths say where a kind keeps what a Scale shows of it.
type scalePaths struct{ replicas, statusReplicas, selector []string }

// builtinScale is where the built-in kinds keep it. Their selector is structured,
// that of custom resources a string.
var builtinScale = &scalePaths{
	replicas: []string{"spec", "replicas"}, statusReplicas: []string{"status", "replicas"}, selector: []string{"spec", "selector"},
}

// scalePaths returns where the kind keeps its scale, nil if it has none.
func (r Resource) scalePaths() *scalePaths {
	switch r.groupResource() {
	case schema.GroupResource{Group: "apps", Resource: "deployments"},
		schema.GroupResource{Group: "apps", Resource: "replicasets"},
		schema.GroupResource{Group: "apps", Resource: "statefulsets"},
		schema.GroupResource{Resource: "replicationcontrollers"}:
		return builtinScale
	}
	return r.scale
}

// jsonPath splits the simple paths of CustomResourceDefinitions, ".spec.replicas".
func jsonPath(path string) []string {
	if path == "" {
		return nil
	}
	return strings.Split(strings.TrimPrefix(path, "."), ".")
}

// of returns the Scale of an object.
func (p *scalePaths) of(obj *unstructured.Unstructured) map[string]any {
	selector := ""
	if len(p.selector) > 0 {
		selector = selectorText(at(obj.Object, p.selector...))
	}
	meta, spec := map[string]any{}, map[string]any{}
	have, _ := obj.Object["metadata"].(map[string]any)
	for _, name := range []string{"name", "namespace", "uid", "resourceVersion", "creationTimestamp"} {
		if v := have[name]; v != nil && v != "" {
			meta[name] = v
		}
	}
	if n := count(obj, p.replicas); n != 0 {
		spec["replicas"] = n
	}
	status := map[string]any{"replicas": count(obj, p.statusReplicas)}
	if selector != "" {
		status["selector"] = selector
	}
	scale := map[string]any{"metadata": meta, "spec": spec, "status": status}
	scale["apiVersion"], scale["kind"] = scaleKind.ToAPIVersionAndKind()
	return scale
}

// count is the number at a path; 0 if there is none.
func count(obj *unstructured.Unstructured, path []string) int64 {
	n, _, _ := unstructured.NestedInt64(obj.Object, path...)
	return int64(int32(n))
}

// selectorText is a selector of any form as a query states it.
func selectorText(selector any) string {
	switch s := selector.(type) {
	case string:
		return s
	case map[string]any:
		var structured metav1.LabelSelector
		if s["matchLabels"] == nil && s["matchExpressions"] == nil { // of a ReplicationController
			set := labels.Set{}
			for k, v := range s {
				set[k] = fmt.Sprint(v)
			}
			return set.String()
		}
		if err := converter.FromUnstructured(s, &structured); err == nil {
			if parsed, err := metav1.LabelSelectorAsSelector(&structured); err == nil {
				return parsed.String()
			}
		}
	}
	return ""
}

// getScale answers a GET of the subresource scale: a Scale made of the object.
func (cl *call) getScale() error {
	v, err := cl.server.store.get(cl.c, cl.target.namespace, cl.target.name)
	if err != nil {
		return err
	}
	return cl.respondScale(v)
}

// respondScale answers with the scale of a stored object.
func (cl *call) respondScale(v *version) error {
	other, err := cl.as(scaleKind)
	if err != nil {
		return err
	}
	obj, err := v.object(cl.res, cl.res.Versions[0])
	if err != nil {
		return err
	}
	return other.answer(http.StatusOK, cl.res.scalePaths().of(obj))
}

// updateScale answers a PUT of the subresource scale. Only the number of replicas is
// written to the object.
func (cl *call) updateScale() error {
	var opts metav1.UpdateOptions
	if err := cl.server.params.decode(cl.r.URL.Query(), &opts); err != nil {
		return err
	}
	other, err := cl.as(scaleKind)
	if err != nil {
		return err
	}
	scale, err := other.object(opts.FieldValidation)
	if err != nil {
		return err
	}
	setManagers(scale, nil)
	return cl.writeScale(cl.writeOptions(opts.DryRun, opts.FieldManager), func(map[string]any) (map[string]any, error) { return scale.Object, nil })
}

// patchScale answers a PATCH of the subresource scale. The patch is for the Scale, not
// for the object behind it.
func (cl *call) patchScale() error {
	body, media, err := cl.body()
	if err != nil {
		return err
	}
	var opts metav1.PatchOptions
	if err := cl.server.params.decode(cl.r.URL.Query(), &opts); err != nil {
		return err
	}
	if err := invalidOptions("PatchOptions", metavalidation.ValidatePatchOptions(&opts, types.PatchType(media))); err != nil {
		return err
	}
	other, err := cl.as(scaleKind)
	if err != nil {
		return err
	}
	if types.PatchType(media) == types.ApplyPatchType {
		return cl.applyScale(other, body, opts)
	}
	patch, err := other.patcher(types.PatchType(media), body, opts.FieldValidation)
	if err != nil {
		return err
	}
	return cl.writeScale(cl.writeOptions(opts.DryRun, opts.FieldManager), patch)
}

// applyScale carries out a server-side apply of a Scale: one of the number of replicas to the
// object behind it.
func (cl *call) applyScale(other *call, body []byte, opts metav1.PatchOptions) error {
	config, err := other.applyConfig(body, opts.FieldValidation)
	if err != nil {
		return err
	}
	if have := config.GroupVersionKind(); have != scaleKind {
		return apierrors.NewBadRequest("invalid object type: " + have.String())
	}
	behind := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": config.GetName()}}}
	behind.SetGroupVersionKind(cl.res.gvk(cl.target.version))
	paths := cl.res.scalePaths()
	if replicas, found, _ := unstructured.NestedInt64(config.Object, "spec", "replicas"); found {
		if err := cl.validScale(config.GetName(), replicas); err != nil {
			return err
		}
		if err := unstructured.SetNestedField(behind.Object, replicas, paths.replicas...); err != nil {
			return err
		}
	}
	write := cl.writeOptions(opts.DryRun, opts.FieldManager)
	write.applied, write.patches = true, true
	v, err := cl.server.store.update(cl.c, cl.target.namespace, cl.target.name, write, func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		next, err := cl.merge(live, behind, opts.FieldManager, opts.Force != nil && *opts.Force)
		if err != nil {
			return nil, asScale(err, cl.res.gvk(cl.target.version).GroupVersion().String())
		}
		content, err := cl.retype(next.Object, string(body), nil, opts.FieldValidation)
		return &unstructured.Unstructured{Object: content}, err
	})
	if err != nil {
		return err
	}
	return cl.respondScale(v)
}

// asScale names the version of a Scale in the conflicts of an apply, not that of the object
// behind it.
func asScale(err error, version string) error {
	status, ok := err.(*apierrors.StatusError)
	if !ok || status.ErrStatus.Details == nil {
		return err
	}
	rename := func(text string) string {
		return strings.ReplaceAll(text, " using "+version, " using "+scaleKind.GroupVersion().String())
	}
	status.ErrStatus.Message = rename(status.ErrStatus.Message)
	for i, cause := range status.ErrStatus.Details.Causes {
		status.ErrStatus.Details.Causes[i].Message = rename(cause.Message)
	}
	return status
}

// validScale refuses a negative number of replicas.
func (cl *call) validScale(name string, replicas int64) error {
	if replicas >= 0 {
		return nil
	}
	if cl.res.RequireResourceVersion { // a custom resource
		path := field.NewPath("." + strings.Join(cl.res.scalePaths().replicas, "."))
		return apierrors.NewInvalid(cl.res.gvk("").GroupKind(), name, field.ErrorList{field.Invalid(path, replicas, "should be a non-negative integer")})
	}
	return apierrors.NewInvalid(scaleKind.GroupKind(), name, field.ErrorList{
		field.Invalid(field.NewPath("spec", "replicas"), replicas, "must be greater than or equal to 0"),
	})
}

// writeScale writes what change makes of the scale of an object back into it.
func (cl *call) writeScale(opts writeOptions, change patchFunc) error {
	paths := cl.res.scalePaths()
	v, err := cl.server.store.update(cl.c, cl.target.namespace, cl.target.name, opts, func(old *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		scale, err := change(paths.of(old))
		if err != nil {
			return nil, err
		}
		wanted := &unstructured.Unstructured{Object: scale}
		replicas := count(wanted, []string{"spec", "replicas"})
		if err := cl.validScale(old.GetName(), replicas); err != nil {
			return nil, err
		}
		if uid := wanted.GetUID(); uid != "" {
			old.SetUID(uid)
		}
		// A scale without a version is written whatever the object's version.
		if rv := wanted.GetResourceVersion(); rv != "" {
			old.SetResourceVersion(rv)
		}
		return old, unstructured.SetNestedField(old.Object, replicas, paths.replicas...)
	})
	if err != nil {
		return err
	}
	return cl.respondScale(v)
}
