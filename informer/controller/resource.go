package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/indexer"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/client"
)

// ResourceOptions says more about what a controller reads. The zero value is ready to use.
type ResourceOptions[T informer.Object] struct {
	// When, if set, selects the events for which a key is added to the queue, such as
	// informer.GenerationChanged. It filters events only; the cache keeps every object.
	// An update of finalizers, labels or annotations does not change the generation: with
	// GenerationChanged, go on in the same call after adding a finalizer, or use informer.Or.
	When informer.Predicate[T]
	// AnyOwner makes [Owns] find all owners of an object, and not only its controller.
	AnyOwner bool
	// ListMapKeys names the fields that identify an element of a list; see the Options of package client.
	ListMapKeys map[string][]string
	// Informer says more about the informer: selectors, indexes, a transform. Its Resource and Kind are
	// empty. If Options.Informers has Namespaces, a kind that is in no namespace needs Whole.
	Informer informer.ForOptions[T]
}

// Resource is what a controller reads of one kind, and writes: the cache, by the methods Get, List,
// Owned and the field Cache, and the API server, by those of the client. What is written is
// waited for before the key is processed again; see [Controller.Run].
type Resource[T informer.Object] struct {
	*client.Client[T]
	// Cache is the informer, for whatever else it can do.
	Cache informer.Shared[T]
	// Kind is the kind of the objects, because owner references name their owner by it. It is the name of the Go
	// type until Run corrects the kind of [For] from discovery.
	Kind schema.GroupVersionKind

	owners *indexer.Index[T, types.UID] // of Owns
}

// For says what the controller reconciles: the objects of a resource, such as
// appsv1.SchemeGroupVersion.WithResource("deployments"). It is called once. Run
// asks discovery for the kind and whether it is in namespaces.
func For[T informer.Object](c *Controller, resource schema.GroupVersionResource, options ...ResourceOptions[T]) *Resource[T] {
	r, opts := read[T](c, "For", resource, options)
	switch {
	case r == nil:
		return &Resource[T]{}
	case c.kind != nil:
		c.refuse(fmt.Errorf("For: %s are reconciled already; use one Controller for each kind", c.kind.Kind))
	}
	c.kind, c.resource = &r.Kind, resource
	fill(c, r, opts, informer.EnqueueKey[T])
	return r
}

// Owns says that the reconciled objects own objects of this resource: a change of one of these queues the
// key of the object that controls it. The removal of the owner reference is such a change, too. The owner
// may be cluster-scoped.
//
// If names follow from the key, [Watches] with a function from the name to the key also sees an object of
// that name that has no owner, and its end. Calls with the same type, resource and selectors share one cache.
func Owns[T informer.Object](c *Controller, resource schema.GroupVersionResource, options ...ResourceOptions[T]) *Resource[T] {
	r, opts := read[T](c, "Owns", resource, options)
	if r == nil {
		return &Resource[T]{}
	}
	r.owners = indexer.OwnerUIDIndex[T]()
	if err := r.Cache.AddIndex(r.owners); err != nil {
		c.refuse(fmt.Errorf("Owns %s: %w", resource.Resource, err))
	}
	fill(c, r, opts, func(q informer.Adder[types.NamespacedName]) informer.Handler[T] {
		return informer.EnqueueOwner[T](q, informer.Owner{Kind: *c.kind, ClusterScoped: c.cluster, AnyReference: opts.AnyOwner})
	})
	return r
}

// Watches queues the keys that the function returns for an object of this resource when it changes, for
// example those of the objects that mention it.
// The function is called by one goroutine at a time, and may read caches.
func Watches[T informer.Object](c *Controller, resource schema.GroupVersionResource, keys func(obj T) []types.NamespacedName, options ...ResourceOptions[T]) *Resource[T] {
	r, opts := read[T](c, "Watches", resource, options)
	switch {
	case r == nil:
		return &Resource[T]{}
	case keys == nil:
		c.refuse(fmt.Errorf("Watches %s: the function is nil; pass one that returns the keys to reconcile, or use Reads", resource.Resource))
	}
	fill(c, r, opts, func(q informer.Adder[types.NamespacedName]) informer.Handler[T] {
		return informer.EnqueueMapped(q, keys)
	})
	return r
}

// Reads says that the controller reads objects of this resource: they are in a cache, and no key is
// processed because of them.
func Reads[T informer.Object](c *Controller, resource schema.GroupVersionResource, options ...ResourceOptions[T]) *Resource[T] {
	r, opts := read[T](c, "Reads", resource, options)
	switch {
	case r == nil:
		return &Resource[T]{}
	case opts.When != nil:
		c.refuse(fmt.Errorf("Reads %s: the options have When, and no key is added", resource.Resource))
	}
	return r
}

// read makes the informer and the client of a resource. It returns nil if it cannot, and has noted why.
func read[T informer.Object](c *Controller, caller string, resource schema.GroupVersionResource, options []ResourceOptions[T]) (*Resource[T], ResourceOptions[T]) {
	var opts ResourceOptions[T]
	if len(options) > 0 {
		opts = options[0]
	}
	var err error
	switch {
	case c.started.Load():
		err = errors.New("the controller runs already; call it before Run")
	case len(options) > 1:
		err = fmt.Errorf("got %d ResourceOptions; pass one at most", len(options))
	case opts.Informer.Resource != schema.GroupVersionResource{} || !opts.Informer.Kind.Empty():
		err = errors.New("ResourceOptions.Informer has a Resource or a Kind; the argument says it")
	case c.factory == nil:
		return nil, opts // New has noted why
	default:
		r := &Resource[T]{Kind: resource.GroupVersion().WithKind(reflect.TypeFor[T]().Elem().Name())}
		opts.Informer.Resource = resource
		opts.Informer.Name = cmp.Or(opts.Informer.Name, resource.GroupResource().String())
		if r.Cache, err = informer.For(c.factory, opts.Informer); err == nil {
			r.Client, err = client.New[T](c.cfg, resource, client.Options{FieldManager: c.opts.Name, Cache: r.Cache, ListMapKeys: opts.ListMapKeys})
		}
		if err == nil {
			return r, opts
		}
	}
	c.refuse(fmt.Errorf("%s %s: %w", caller, resource.Resource, err))
	return nil, opts
}

// fill adds a source that fills the queue of each term.
func fill[T informer.Object](c *Controller, r *Resource[T], opts ResourceOptions[T], handler func(informer.Adder[types.NamespacedName]) informer.Handler[T]) {
	c.sources = append(c.sources, func(q *queue) (*informer.Registration, error) {
		return r.Cache.AddHandler(enqueue(q, opts.When, handler), informer.HandlerOptions{Name: c.opts.Name})
	})
}

// Get returns the object with this key from the cache; see [informer.Lister]. It must not be
// modified: DeepCopy it. To ask the server, use the Get of the field Client.
func (r *Resource[T]) Get(key types.NamespacedName) (T, error) { return r.Cache.Lister().Get(key) }

// List yields the objects in the cache whose labels match, in no particular order; a nil selector
// matches all, and the empty namespace means all. They must not be modified.
func (r *Resource[T]) List(namespace string, selector labels.Selector) iter.Seq[T] {
	if namespace == "" {
		return r.Cache.Snapshot().Select(selector)
	}
	return r.Cache.Snapshot().SelectInNamespace(namespace, selector)
}

// Modify changes the object with this key, unless the change changes nothing; see the method of
// [client.Client]. It begins with what the cache has, and reads the server's only after a conflict.
func (r *Resource[T]) Modify(ctx context.Context, key types.NamespacedName, change func(obj T) error) (T, error) {
	have, err := r.Get(key)
	if err != nil {
		return have, err
	}
	return r.ModifyFrom(ctx, have, change)
}

// ModifyStatus is Modify for the status: the server ignores the rest of the change.
func (r *Resource[T]) ModifyStatus(ctx context.Context, key types.NamespacedName, change func(obj T) error) (T, error) {
	have, err := r.Get(key)
	if err != nil {
		return have, err
	}
	return r.Status().ModifyFrom(ctx, have, change)
}

// CreateOrUpdate creates the object with this key, or changes the one that there is, unless the change
// changes nothing; see the method of [client.Client]. It begins with what the cache has.
func (r *Resource[T]) CreateOrUpdate(ctx context.Context, key types.NamespacedName, change func(obj T) error) (T, client.Outcome, error) {
	have, err := r.Get(key)
	if client.IgnoreNotFound(err) != nil {
		return have, "", err
	}
	return r.Client.CreateOrUpdate(ctx, key, have, change)
}

// Own makes owner the controller of obj, as [client.SetController] does. If obj is still to be created, it asks the
// API server first whether owner is there: a cache that is behind may have one that is gone, and the garbage collector
// would delete what is made for it, again and again. Then the error is NotFound.
func (r *Resource[T]) Own(ctx context.Context, obj metav1.Object, owner T) error {
	if obj.GetUID() == "" {
		now, err := r.Client.Get(ctx, client.KeyOf(owner))
		if err == nil && now.GetUID() != owner.GetUID() {
			err = apierrors.NewNotFound(schema.GroupResource{Group: r.Kind.Group, Resource: r.Kind.Kind}, owner.GetName())
		}
		if err != nil {
			return err
		}
	}
	return client.SetController(obj, owner, r.Kind)
}

// Owned returns the objects in the cache that owner owns, in the order of their names. Call it only on
// what [Owns] returned. They must not be modified.
func (r *Resource[T]) Owned(owner metav1.Object) []T {
	if r.owners == nil {
		panic("controller: Owned is for a resource of Owns")
	}
	return slices.SortedFunc(indexer.ByIndex(r.Cache.Snapshot(), r.owners, owner.GetUID()), func(a, b T) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
}
