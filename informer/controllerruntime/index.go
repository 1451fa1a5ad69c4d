package controllerruntime

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/informerkit/informerkit/indexer"
)

// fieldValue is the key of a field index. An object is found by the value alone and, if
// it is in a namespace, by both.
//
// The strings are those of the object, so an entry costs no memory for text.
type fieldValue struct{ namespace, value string }

// fieldIndexes holds functions by field.
func fieldIndex(field string) string { return "field:" + field }

// IndexField adds an index of the values that extract returns for an object. Lists with
// a field selector field=value then find it. It may be called before and after Start, and
// fails if the kind has an index of that field. An object for which extract panics is
// missing from that index, and reported.
func (c *Cache) IndexField(_ context.Context, obj client.Object, field string, extract client.IndexerFunc) error {
	if extract == nil {
		return fmt.Errorf("controllerruntime: the function of the index of %q is nil", field)
	}
	if field == "" {
		return errors.New("controllerruntime: the field of the index is empty")
	}
	key, err := c.keyOf(obj)
	if err != nil {
		return err
	}
	k, err := c.get(key)
	if err != nil {
		return err
	}
	// One at a time, so that of two for one field, one fails before it has added to any part.
	k.indexing.Lock()
	defer k.indexing.Unlock()
	if _, exists := k.extract.Load(field); exists {
		return fmt.Errorf("indexer conflict: %s of %v has an index", field, key.GroupVersionKind)
	}
	for _, p := range k.ordered {
		// A part of one namespace needs no entries by namespace.
		both := p.namespace == "" && k.namespaced
		if err := p.informer.AddIndex(indexer.NewIndex(fieldIndex(field), func(obj client.Object) ([]fieldValue, error) {
			return fieldValues(obj, extract(obj), both), nil
		})); err != nil {
			return fmt.Errorf("controllerruntime: index of %s: %w", field, err)
		}
	}
	k.extract.Store(field, extract)
	return nil
}

// fieldValues returns the keys of an object in an index.
func fieldValues(obj client.Object, values []string, both bool) []fieldValue {
	if len(values) == 0 {
		return nil
	}
	n := len(values)
	if both {
		n *= 2
	}
	keys := make([]fieldValue, 0, n)
	for _, value := range values {
		keys = append(keys, fieldValue{"", value})
		if both {
			keys = append(keys, fieldValue{obj.GetNamespace(), value})
		}
	}
	return keys
}

// exactFields returns the requirements of a selector that indexes can answer.
func exactFields(selector fields.Selector) (fields.Requirements, error) {
	requirements := selector.Requirements()
	for _, r := range requirements {
		if r.Operator != selection.Equals && r.Operator != selection.DoubleEquals {
			return nil, fmt.Errorf("non-exact field matches are not supported by the cache: %s%s%s; use = only", r.Field, r.Operator, r.Value)
		}
	}
	if len(requirements) == 0 && !selector.Empty() {
		return nil, errors.New("non-exact field matches are not supported by the cache: the selector matches nothing")
	}
	return requirements, nil
}

// byFields returns the objects of a part, in a namespace or in all, that have all of the
// values. The index with the fewest objects finds them, and the functions of the others
// filter.
func (k *kind) byFields(p *part, snap *indexer.Snapshot[client.Object], namespace string, requirements fields.Requirements) (iter.Seq[client.Object], int, error) {
	if p.namespace != "" || !k.namespaced {
		if namespace != p.namespace && namespace != "" {
			return func(func(client.Object) bool) {}, 0, nil
		}
		namespace = "" // see IndexField
	}
	best, fewest := -1, 0
	var index *indexer.Index[client.Object, fieldValue]
	for i, r := range requirements {
		x, err := indexer.FindIndex[client.Object, fieldValue](snap, fieldIndex(r.Field))
		if err != nil {
			return nil, 0, fmt.Errorf("Index with name %s does not exist: add it with IndexField before the list", fieldIndex(r.Field)) //nolint:staticcheck // client-go's words
		}
		if n := indexer.IndexLen(snap, x, fieldValue{namespace, r.Value}); best < 0 || n < fewest {
			best, fewest, index = i, n, x
		}
	}
	found := indexer.ByIndex(snap, index, fieldValue{namespace, requirements[best].Value})
	if len(requirements) == 1 {
		return found, fewest, nil
	}
	return func(yield func(client.Object) bool) {
		for obj := range found {
			if k.hasFields(obj, requirements, best) && !yield(obj) {
				return
			}
		}
	}, fewest, nil
}

// hasFields reports whether obj has all values but that of the requirement known.
func (k *kind) hasFields(obj client.Object, requirements fields.Requirements, known int) bool {
	for i, r := range requirements {
		if i == known {
			continue
		}
		extract, ok := k.extract.Load(r.Field)
		if !ok || !hasValue(extract.(client.IndexerFunc), obj, r.Value) { //nolint:forcetypeassert // as stored
			return false
		}
	}
	return true
}

// hasValue is false for an object for which extract panics: the index has reported it.
func hasValue(extract client.IndexerFunc, obj client.Object, value string) (has bool) {
	defer func() {
		if recover() != nil {
			has = false
		}
	}()
	return slices.Contains(extract(obj), value)
}
