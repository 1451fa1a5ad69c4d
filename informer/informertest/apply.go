package informertest

import (
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// apply carries out a server-side apply: the client states the fields that it
// wants, and owns them from then on. Another manager's field that would change is
// a conflict, unless the client forces it. An object that does not exist is
// created.
func (cl *call) apply(body []byte, opts metav1.PatchOptions) error {
	config, err := cl.applyConfig(body, opts.FieldValidation)
	if err != nil {
		return err
	}
	write := cl.writeOptions(opts.DryRun, opts.FieldManager)
	write.applied, write.patches = true, true
	force := opts.Force != nil && *opts.Force
	write.owners = &ownersChange{}
	merge := func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		next, err := cl.merge(live, config.DeepCopy(), opts.FieldManager, force)
		if err != nil {
			return nil, err
		}
		content, err := cl.retype(cl.res.fromStored(next, cl.target.version).Object, string(body), nil, opts.FieldValidation)
		if err != nil {
			return nil, err
		}
		if next, err = cl.patched(content); err != nil {
			return nil, err
		}
		return cl.res.toStored(next, cl.target.version), nil
	}
	v, err := cl.server.store.update(cl.c, cl.target.namespace, cl.target.name, write, merge)
	if err == nil {
		cl.owned(false, write.owners.before, write.owners.after)
		return cl.respond(http.StatusOK, v)
	}
	if !apierrors.IsNotFound(err) || cl.target.subresource != "" {
		return err
	}
	if v, err = cl.applyNew(config, merge, write); err != nil {
		return err
	}
	cl.owned(true, nil, config.GetOwnerReferences())
	return cl.respond(http.StatusCreated, v)
}

// applyConfig reads the fields that a client applies, as YAML or JSON, and leaves
// out those that the endpoint ignores.
func (cl *call) applyConfig(body []byte, directive string) (*unstructured.Unstructured, error) {
	config := &unstructured.Unstructured{}
	_, _, err := strictYAML.Decode(body, nil, config)
	if strict, ok := runtime.AsStrictDecodingError(err); ok {
		err = cl.judge(strict.Errors(), directive)
		if err != nil {
			return nil, apierrors.NewBadRequest("error strict decoding YAML: error converting YAML to JSON: " + strict.Errors()[0].Error())
		}
	}
	if err != nil && !runtime.IsMissingKind(err) {
		return nil, apierrors.NewBadRequest("error decoding YAML: error converting YAML to JSON: " + err.Error())
	}
	content := config.Object
	if content == nil {
		content = map[string]any{}
	}
	if _, ok := content["metadata"].(map[string]any); !ok {
		content["metadata"] = map[string]any{}
	}
	switch {
	case cl.target.subresource == "status":
		delete(content, "spec")
	case cl.res.StatusSubresource:
		delete(content, "status")
	}
	return &unstructured.Unstructured{Object: content}, nil
}

// merge lets apimachinery merge a configuration into the live object.
func (cl *call) merge(live, config *unstructured.Unstructured, manager string, force bool) (*unstructured.Unstructured, error) {
	res, version := cl.res.stored(), cl.trackedVersion()
	if cl.res.converted(cl.target.version) && config.GroupVersionKind() == cl.res.gvk(cl.target.version) {
		config = cl.res.toStored(config, cl.target.version)
	}
	live.SetGroupVersionKind(res.gvk(version))
	fields, err := fieldManagerOf(res, version, cl.target.subresource)
	if err != nil {
		return nil, err
	}
	next, err := fields.Apply(live, config, manager, force)
	if _, known := err.(apierrors.APIStatus); err != nil && !known {
		return nil, errUnclassified(err)
	} else if err != nil {
		return nil, err
	}
	return convertVersion(next.(*unstructured.Unstructured), res.gvk(version))
}

// applyNew creates the object that a configuration describes.
func (cl *call) applyNew(config *unstructured.Unstructured, merge func(*unstructured.Unstructured) (*unstructured.Unstructured, error), opts writeOptions) (*version, error) {
	if uid := config.GetUID(); uid != "" {
		return nil, apierrors.NewConflict(cl.res.groupResource(), cl.target.name,
			fmt.Errorf("uid mismatch: the provided object specified uid %s, and no existing object was found", uid))
	}
	obj, err := merge(emptyObject(cl.res.stored()))
	if err != nil {
		return nil, err
	}
	obj.SetResourceVersion("")
	return cl.server.store.create(cl.c, obj, opts)
}
