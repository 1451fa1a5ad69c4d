package controllerruntime

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// noContinuation is what controller-runtime's cache writes into lists: there are no pages.
const noContinuation = "continue-not-supported"

// Get writes the object with that key into out: a deep copy, unless an option says
// otherwise. An object that does not exist is a NotFound; one that the server has and that
// cannot be read is an [informer.ErrUnreadable]. It waits for the first list of
// the kind, which it begins if need be.
func (c *Cache) Get(ctx context.Context, key client.ObjectKey, out client.Object, opts ...client.GetOption) error {
	k, err := c.forReading(ctx, out)
	if err != nil {
		return err
	}
	var options client.GetOptions
	options.ApplyOptions(opts)
	p, ok := k.partOf(key.Namespace)
	if !ok {
		return fmt.Errorf("unable to get: %v because of unknown namespace for the cache", key)
	}
	if !k.namespaced {
		key.Namespace = ""
	}
	obj, err := p.informer.Lister().Get(key)
	switch {
	case apierrors.IsNotFound(err):
		return apierrors.NewNotFound(schema.GroupResource{Group: k.key.Group, Resource: k.key.Kind}, key.Name)
	case err != nil:
		return err
	}
	if err := k.checkType(obj, reflect.TypeOf(out)); err != nil {
		return err
	}
	if p.noCopy || ptr.Deref(options.UnsafeDisableDeepCopy, false) {
		reflect.ValueOf(out).Elem().Set(reflect.ValueOf(obj).Elem())
		return nil
	}
	copyInto(out, obj)
	k.setKind(out)
	return nil
}

// List writes the objects that the options select into out: deep copies, unless an
// option says otherwise. It waits as Get does. A field selector must consist of
// field=value for fields that have an index.
func (c *Cache) List(ctx context.Context, out client.ObjectList, opts ...client.ListOption) error {
	var options client.ListOptions
	options.ApplyOptions(opts)
	if options.Continue != "" {
		return errors.New("continue list option is not supported by the cache")
	}
	k, err := c.forReading(ctx, out)
	if err != nil {
		return err
	}
	parts := k.ordered
	if k.namespaced && options.Namespace != "" {
		p, ok := k.partOf(options.Namespace)
		if !ok {
			return fmt.Errorf("unable to list: %v because of unknown namespace for the cache", options.Namespace)
		}
		parts = []*part{p}
	}
	var exact fields.Requirements
	if options.FieldSelector != nil {
		if exact, err = exactFields(options.FieldSelector); err != nil {
			return err
		}
	}
	var found []client.Object
	share := ptr.Deref(options.UnsafeDisableDeepCopy, false)
	var shared []bool // by object, if the parts differ
	for _, p := range parts {
		objs, n, err := k.query(p, &options, exact)
		if err != nil {
			return err
		}
		if options.Limit > 0 {
			n = int(min(int64(n), options.Limit))
		}
		if found == nil {
			found = make([]client.Object, 0, n)
		}
		for obj := range objs {
			if options.Limit > 0 && int64(len(found)) >= options.Limit {
				break
			}
			found = append(found, obj)
			if len(parts) > 1 {
				shared = append(shared, share || p.noCopy)
			}
		}
		share = share || len(parts) == 1 && p.noCopy
	}
	if err := k.write(out, found, func(i int) bool { return share || shared != nil && shared[i] }); err != nil {
		return err
	}
	out.SetContinue(noContinuation)
	return nil
}

// forReading returns the cache of a kind that is synced.
func (c *Cache) forReading(ctx context.Context, out runtime.Object) (*kind, error) {
	key, err := c.keyOf(out)
	if err != nil {
		return nil, err
	}
	k, known := (*c.kinds.Load())[key]
	if !known {
		if c.opts.ReaderFailOnMissingInformer {
			return nil, &cache.ErrResourceNotCached{GVK: key.GroupVersionKind}
		}
		if k, err = c.get(key); err != nil {
			return nil, err
		}
	}
	if !c.isStarted() {
		return nil, &cache.ErrCacheNotStarted{}
	}
	return k, k.waitFor(ctx, known)
}

// query returns the objects of a part that the options select, and how many they are at
// most.
func (k *kind) query(p *part, options *client.ListOptions, exact fields.Requirements) (iter.Seq[client.Object], int, error) {
	snap := p.informer.Snapshot()
	selector := options.LabelSelector
	if selector == nil {
		selector = labels.Everything()
	}
	switch {
	case len(exact) > 0:
		objs, n, err := k.byFields(p, snap, options.Namespace, exact)
		return matching(objs, selector), n, err
	case options.Namespace != "":
		return snap.SelectInNamespace(options.Namespace, selector), sizeHint(selector, snap.NamespaceLen(options.Namespace)), nil
	}
	return snap.Select(selector), sizeHint(selector, snap.Len()), nil
}

// sizeHint is for how many objects room is made before they are counted: all, unless a
// selector makes that a guess.
func sizeHint(selector labels.Selector, all int) int {
	if selector.Empty() {
		return all
	}
	return min(all, 64)
}

// matching returns those objects whose labels match.
func matching(objs iter.Seq[client.Object], selector labels.Selector) iter.Seq[client.Object] {
	if objs == nil || selector.Empty() {
		return objs
	}
	return func(yield func(client.Object) bool) {
		for obj := range objs {
			if selector.Matches(labels.Set(obj.GetLabels())) && !yield(obj) {
				return
			}
		}
	}
}

// write makes objects the items of a list, each as it is if share says so, else as a
// copy that is made in its place.
func (k *kind) write(out client.ObjectList, objs []client.Object, share func(i int) bool) error {
	ptr, err := meta.GetItemsPtr(out)
	if err != nil {
		return err
	}
	items := reflect.ValueOf(ptr).Elem()
	elem := items.Type().Elem()
	for _, obj := range objs {
		asked := k.typ
		if elem.Kind() == reflect.Struct {
			asked = reflect.PointerTo(elem)
		}
		if err := k.checkType(obj, asked); err != nil {
			return err
		}
	}
	switch elem {
	case k.typ.Elem(): // []corev1.Pod
		slice := reflect.MakeSlice(items.Type(), len(objs), len(objs))
		for i, obj := range objs {
			if share(i) {
				slice.Index(i).Set(reflect.ValueOf(obj).Elem())
				continue
			}
			item := slice.Index(i).Addr().Interface().(client.Object) //nolint:forcetypeassert // it is a k.typ
			copyInto(item, obj)
			k.setKind(item)
		}
		items.Set(slice)
		return nil
	case k.typ: // []*corev1.Pod
		slice := reflect.MakeSlice(items.Type(), len(objs), len(objs))
		for i, obj := range objs {
			slice.Index(i).Set(reflect.ValueOf(k.copied(obj, share(i))))
		}
		items.Set(slice)
		return nil
	}
	all := make([]runtime.Object, len(objs)) // of interfaces
	for i, obj := range objs {
		all[i] = k.copied(obj, share(i))
	}
	return meta.SetList(out, all)
}

// copied returns obj, or a copy of it.
func (k *kind) copied(obj client.Object, share bool) client.Object {
	if share {
		return obj
	}
	dup := obj.DeepCopyObject().(client.Object) //nolint:forcetypeassert // the copy is of the same type
	k.setKind(dup)
	return dup
}

// checkType reports an object that cannot be written where it was asked for: a transform
// has changed its type, or the caller has a type that the scheme does not have.
func (k *kind) checkType(obj client.Object, asked reflect.Type) error {
	if have := reflect.TypeOf(obj); have != asked {
		return fmt.Errorf("cache had type %s, but %s was asked for", have, asked)
	}
	return nil
}

// setKind makes sure of the kind of a copy. Cached objects have it, unless a transform has
// cleared it.
func (k *kind) setKind(obj client.Object) {
	if kind := obj.GetObjectKind(); kind.GroupVersionKind() != k.key.GroupVersionKind {
		kind.SetGroupVersionKind(k.key.GroupVersionKind)
	}
}
