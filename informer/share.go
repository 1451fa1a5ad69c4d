package informer

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/indexer"
	"github.com/informerkit/informerkit/reflector"
)

// ForOptions says which informer [For] is to return.
type ForOptions[T Object] struct {
	// Resource is what to read. If it is empty, the resource of Kind is looked
	// up on the server, as soon as the server has it.
	Resource schema.GroupVersionResource
	// Kind is the kind to read if Resource is empty. If it is empty too, it is
	// that of T in the factory's Scheme.
	Kind schema.GroupVersionKind
	// LabelSelector and FieldSelector narrow down what is read, in the form of
	// kubectl's -l and --field-selector.
	LabelSelector, FieldSelector string
	// ShardSelector reads one part of the collection; see
	// [reflector.ResourceOptions].
	ShardSelector string
	// AllNamespaces reads all namespaces although the factory has a list; use it
	// for resources that are not in namespaces.
	AllNamespaces bool
	// Transform and Indexer are as in [Options]. They belong to the informer, not
	// to the one who asks: who asks second may leave them out, or give the very
	// same Transform. Two closures are not the same, even if made by the same code:
	// keep the function in a variable, or declare it at the top level.
	Transform func(T) (T, error)
	Indexer   indexer.Options[T]
	// Variant tells informers apart that differ only in Transform or Indexer.
	Variant string
}

// sharedKey is what must be equal for an informer to be shared.
type sharedKey struct {
	typ           reflect.Type
	resource      schema.GroupVersionResource
	kind          schema.GroupVersionKind
	label, field  string
	shard         string
	allNamespaces bool
	variant       string
}

// Shared is somebody's part in an informer that a [Factory] made.
type Shared[T Object] struct {
	*Informer[T]
	release func()
}

// Release gives the part back. The informer stops when all parts have been
// released, and its handlers with it; a handler that should end earlier must be
// removed. Release may be called more than once.
func (s *Shared[T]) Release() { s.release() }

// share is an informer with the number of its users.
type share[T Object] struct {
	*Informer[T]
	transform unsafe.Pointer
	users     int
	stop      func()
	begun     bool
}

// begin is called with the factory's mutex held.
func (s *share[T]) begin(launch func(func(context.Context) error) func()) {
	if !s.begun {
		s.begun = true
		s.stop = launch(s.Run)
	}
}

// For returns the factory's informer of T for these options: the one that
// somebody asked for before and has not released, or a new one. If the factory
// has been started, so has the informer. The caller must Release it when it
// needs it no more.
//
// T may be a pointer to a generated type, *unstructured.Unstructured or
// *metav1.PartialObjectMetadata. A resource that the server does not have yet is
// waited for; one that it has no more empties the cache.
func For[T Object](f *Factory, opts ForOptions[T]) (*Shared[T], error) {
	if err := opts.complete(f); err != nil {
		return nil, err
	}
	key := sharedKey{
		typ: reflect.TypeFor[T](), resource: opts.Resource, kind: opts.Kind,
		label: opts.LabelSelector, field: opts.FieldSelector, shard: opts.ShardSelector,
		allNamespaces: opts.AllNamespaces, variant: opts.Variant,
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down {
		return nil, fmt.Errorf("informer: the factory was shut down: %w", ErrStopped)
	}
	transform := identity(opts.Transform)
	s, ok := f.shared[key].(*share[T])
	switch {
	case !ok || isClosed(s.Done()): // one whose source has failed for good is of no use
		inf, err := builder[T]{f, opts}.build()
		if err != nil {
			return nil, err
		}
		s = &share[T]{Informer: inf, transform: transform}
		f.shared[key] = s
	case transform != nil && transform != s.transform, len(opts.Indexer.Indexes) > 0:
		return nil, fmt.Errorf("informer: there is an informer of %s already, whose Transform or Indexer may be others; leave them out, add indexes with Indexer().AddIndex, or set ForOptions.Variant to get another one", typeOf[T]())
	}
	s.users++
	if f.launch != nil {
		s.begin(f.launch)
	}
	return &Shared[T]{Informer: s.Informer, release: sync.OnceFunc(func() { release(f, key, s) })}, nil
}

// release takes one user off, and stops an informer that has none left.
func release[T Object](f *Factory, key sharedKey, s *share[T]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.users--; s.users > 0 {
		return
	}
	if f.shared[key] == sharedInformer(s) {
		delete(f.shared, key)
	}
	if s.stop != nil {
		s.stop()
	}
}

// identity tells function values apart. Package reflect compares code only, and
// so would take two closures that captured different variables for the same.
func identity[F any](f func(F) (F, error)) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&f))
}

// complete checks the options and finds the kind.
func (o *ForOptions[T]) complete(f *Factory) error {
	switch {
	case o.Resource.Resource != "" && o.Kind.Kind != "":
		return errors.New("informer: ForOptions has both a Resource and a Kind; set one of the two")
	case o.Resource.Resource != "":
		return nil
	case o.Resource != schema.GroupVersionResource{}:
		return fmt.Errorf("informer: ForOptions.Resource %v has no plural name", o.Resource)
	case o.Kind.Kind != "":
		return nil
	case f.opts.Scheme == nil:
		return fmt.Errorf("informer: which resource holds %s? Set ForOptions.Resource, ForOptions.Kind or FactoryOptions.Scheme", typeOf[T]())
	}
	obj, ok := reflect.New(reflect.TypeFor[T]().Elem()).Interface().(runtime.Object)
	if !ok {
		return fmt.Errorf("informer: %s is not a pointer to an API type", typeOf[T]())
	}
	kinds, _, err := f.opts.Scheme.ObjectKinds(obj)
	if err != nil {
		return fmt.Errorf("informer: %w; set ForOptions.Resource, or register the type in FactoryOptions.Scheme", err)
	}
	o.Kind = kinds[0]
	return nil
}

// builder makes an informer out of options.
type builder[T Object] struct {
	f    *Factory
	opts ForOptions[T]
}

func (b builder[T]) build() (*Informer[T], error) {
	f, opts := b.f, b.opts
	options := Options[T]{
		Name:      b.name(),
		Logger:    f.opts.Logger,
		Transform: opts.Transform,
		Reflector: f.opts.Reflector,
		Indexer:   opts.Indexer,
		Metrics:   f.opts.Metrics,
	}
	if len(f.opts.Namespaces) == 0 || opts.AllNamespaces {
		c := b.collection("")
		inf, err := New[T](c, options)
		if err == nil {
			c.gone = inf.sources[0].empty
		}
		return inf, err
	}
	inf, err := NewNamespaced[T](nil, options)
	for _, namespace := range f.opts.Namespaces {
		if err != nil {
			break
		}
		c := b.collection(namespace)
		if err = inf.AddNamespace(namespace, c); err == nil {
			c.gone = inf.sources[len(inf.sources)-1].empty
		}
	}
	return inf, err
}

func (b builder[T]) collection(namespace string) *collection[T] {
	return &collection[T]{
		cfg: b.f.cfg, discovery: b.f.discovery, gvk: b.opts.Kind, gvr: b.opts.Resource,
		opts: reflector.ResourceOptions{
			Namespace: namespace, LabelSelector: b.opts.LabelSelector, FieldSelector: b.opts.FieldSelector,
			ShardSelector: b.opts.ShardSelector,
		},
	}
}

// name tells the factory's informers apart in logs and metrics.
func (b builder[T]) name() string {
	parts := []string{b.opts.Resource.GroupResource().String()}
	if b.opts.Resource.Resource == "" {
		parts[0] = b.opts.Kind.GroupKind().String()
	}
	var form, all string
	switch reflect.TypeFor[T]() {
	case reflect.TypeFor[*unstructured.Unstructured]():
		form = "(unstructured)"
	case reflect.TypeFor[*metav1.PartialObjectMetadata]():
		form = "(metadata)"
	}
	if b.opts.AllNamespaces && len(b.f.opts.Namespaces) > 0 {
		all = "(all namespaces)"
	}
	for _, p := range []string{form, all, b.opts.LabelSelector, b.opts.FieldSelector, b.opts.ShardSelector, b.opts.Variant} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, " ")
}
