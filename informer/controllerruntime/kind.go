package controllerruntime

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/clientgo"
)

// form is in which form objects of a kind are cached. Each has its own informers: the
// server sends other bytes, and readers get another Go type.
type form uint8

const (
	typed form = iota
	unstructuredForm
	metadataOnly
)

// formOf returns the form in which an object or a list is asked for.
func formOf(obj runtime.Object) form {
	switch obj.(type) {
	case runtime.Unstructured:
		return unstructuredForm
	case *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		return metadataOnly
	}
	return typed
}

// kindKey identifies what is cached together.
type kindKey struct {
	schema.GroupVersionKind
	form form
}

// goType returns the type of the cached objects.
func (k kindKey) goType(scheme *runtime.Scheme) (reflect.Type, error) {
	switch k.form {
	case unstructuredForm:
		return reflect.TypeFor[*unstructured.Unstructured](), nil
	case metadataOnly:
		return reflect.TypeFor[*metav1.PartialObjectMetadata](), nil
	case typed:
	}
	obj, err := scheme.New(k.GroupVersionKind)
	if err != nil {
		return nil, err
	}
	if _, ok := obj.(client.Object); !ok {
		return nil, fmt.Errorf("controllerruntime: %v is a %T in the scheme, which has no object metadata and so cannot be cached", k.GroupVersionKind, obj)
	}
	return reflect.TypeOf(obj), nil
}

// kind is the cache of one kind in one form: one informer, or one per namespace.
type kind struct {
	key        kindKey
	typ        reflect.Type // of the objects, such as *corev1.Pod
	namespaced bool
	parts      map[string]*part // by namespace; "" for all that have no other
	ordered    []*part          // the same, in the order of their namespaces
	informer   cache.Informer   // what GetInformer returns

	// ctx ends when the kind is removed, or the cache stops. The informers run under it.
	ctx    context.Context
	cancel context.CancelFunc

	// indexing is held while an index is added. It guards nothing that is read
	// otherwise.
	indexing sync.Mutex
	extract  sync.Map // of client.IndexerFunc, by field
}

// part is one informer of a kind.
type part struct {
	namespace string // that has a configuration of its own; or ""
	informer  *informer.Informer[client.Object]
	shared    *clientgo.SharedInformer[client.Object]
	noCopy    bool // readers get the cached objects
}

// newKind returns the cache of a kind that does not run yet. It makes no request, except
// that the mapper may.
func (c *Cache) newKind(key kindKey) (*kind, error) {
	typ, err := key.goType(c.opts.Scheme)
	if err != nil {
		return nil, err
	}
	mapping, err := c.opts.Mapper.RESTMapping(key.GroupKind(), key.Version)
	if err != nil {
		return nil, err
	}
	k := &kind{key: key, typ: typ, namespaced: isNamespaced(mapping), parts: map[string]*part{}}
	k.ctx, k.cancel = context.WithCancel(context.Background())
	all := c.configs.of(key.GroupVersionKind, k.namespaced)
	for _, namespace := range slices.Sorted(maps.Keys(all)) {
		p, err := c.newPart(k, mapping.Resource, namespace, all[namespace])
		if err != nil {
			k.cancel()
			return nil, err
		}
		k.parts[namespace] = p
		k.ordered = append(k.ordered, p)
	}
	if k.informer = newMany(k); len(k.ordered) == 1 {
		k.informer = k.ordered[0].shared
	}
	return k, nil
}

// run runs the informers until the kind's context ends, and then waits for them.
func (k *kind) run(c *Cache) {
	var running sync.WaitGroup
	for _, p := range k.ordered {
		running.Go(func() {
			if err := p.informer.Run(k.ctx); err != nil && k.ctx.Err() == nil {
				c.own.Logger.Error("an informer has ended; remove it and get it again to retry", "informer", p.informer.Name(), "error", err)
			}
		})
	}
	running.Wait()
}

// waitForSync waits until all informers are synced. It returns what is not synced, and
// why, if ctx ends first or the informers do.
func (k *kind) waitForSync(ctx context.Context) error {
	for _, p := range k.ordered {
		// Looked at first: what is synced may be read although ctx has ended.
		select {
		case <-p.informer.Synced():
			continue
		default:
		}
		if err := context.Cause(ctx); err != nil {
			return errors.Join(err, p.informer.Unsynced())
		}
		select {
		case <-p.informer.Synced():
		case <-p.informer.Done():
			return errors.Join(informer.ErrStopped, p.informer.Unsynced())
		case <-k.ctx.Done(): // removed before it ran
			return errors.Join(informer.ErrStopped, p.informer.Unsynced())
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), p.informer.Unsynced())
		}
	}
	return nil
}

// partOf returns the part that has the objects of a namespace.
func (k *kind) partOf(namespace string) (*part, bool) {
	if !k.namespaced {
		namespace = ""
	}
	p, ok := k.parts[namespace]
	if !ok {
		p, ok = k.parts[cache.AllNamespaces]
	}
	return p, ok
}

// resyncPeriod spreads the resyncs of informers by 10% to either side, as
// controller-runtime does. The informer spreads the objects over the period.
func resyncPeriod(period *time.Duration, random float64) time.Duration {
	d := defaultSyncPeriod
	if period != nil {
		d = *period
	}
	if d == 0 {
		return 0
	}
	return max(time.Second, time.Duration(float64(d)*(0.9+random/5)))
}

var _ toolscache.SharedIndexInformer = (*clientgo.SharedInformer[client.Object])(nil)
