package informertest

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/sharding"
)

// selection is what part of a collection a request is about.
type selection struct {
	namespace string // empty for all
	labels    labels.Selector
	fields    fields.Selector
	shards    sharding.Selector // nil for all
}

// selectEverything is a selection that the caller may narrow. The selectors are set, so
// that nothing needs to check them for nil.
func selectEverything() selection {
	return selection{labels: labels.Everything(), fields: fields.Everything()}
}

// filtered reports whether selectors narrow the selection.
func (s selection) filtered() bool {
	return !s.labels.Empty() || !s.fields.Empty() || s.shards != nil && !s.shards.Empty()
}

// parseSelection reads the selectors of a request.
func parseSelection(res Resource, namespace, labelSelector, fieldSelector string) (selection, error) {
	sel := selectEverything()
	sel.namespace = namespace
	var err error
	if sel.labels, err = labels.Parse(labelSelector); err != nil {
		return sel, apierrors.NewBadRequest(err.Error())
	}
	if sel.fields, err = fields.ParseSelector(fieldSelector); err != nil {
		return sel, apierrors.NewBadRequest(err.Error())
	}
	for _, r := range sel.fields.Requirements() {
		if !selectable(res, r.Field) {
			return sel, apierrors.NewBadRequest("field label not supported: " + r.Field)
		}
	}
	if res.storage != nil {
		sel.fields, err = sel.fields.Transform(func(name, value string) (string, string, error) {
			if stored, ok := eventFields[name]; ok {
				name = stored
			}
			return name, value, nil
		})
	}
	return sel, err
}

// selectable reports whether a field selector may name the field.
func selectable(res Resource, name string) bool {
	switch name {
	case "metadata.name":
		return true
	case "metadata.namespace":
		return !res.ClusterScoped
	}
	for _, f := range res.SelectableFields {
		if f == name {
			return true
		}
	}
	return false
}

// selectLocked returns the selected objects in key order.
func (c *collection) selectLocked(sel selection) []*version {
	all, _ := c.atLocked(max(c.compacted, latest(c.events)))
	return filter(all, sel)
}

// latest returns the revision of the last event.
func latest(events []change) uint64 {
	if len(events) == 0 {
		return 0
	}
	return events[len(events)-1].rv
}

// filter returns the selected ones of the versions.
func filter(all []*version, sel selection) []*version {
	if sel.namespace == "" && !sel.filtered() {
		return all
	}
	var out []*version
	for _, v := range all {
		if v.matches(sel) {
			out = append(out, v)
		}
	}
	return out
}
