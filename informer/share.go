package informer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"reflect"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
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
	// Kind is the kind to read if Resource is empty. The informer follows it: if its definition is recreated
	// with another plural name or scope, or, for unstructured objects and metadata, its version is no longer
	// served, the informer reads what discovery names. Set Resource to read one version only. If it is empty too, it is
	// that of T in the factory's Scheme.
	Kind schema.GroupVersionKind
	// LabelSelector and FieldSelector narrow down what is read, in the form of
	// kubectl's -l and --field-selector.
	LabelSelector, FieldSelector string
	// Layer, if set, creates the informer; see [Layer].
	Layer Layer[T]
	// Whole reads all objects although the factory has Namespaces; use it
	// for resources that are not in namespaces.
	Whole bool
	// Optional says that the program works without this kind. If the server responds with 404,
	// [Informer.Ready] returns nil at first, as long as the server has never served the kind, and
	// for a kind that was there after ten minutes. The cache keeps its objects, and Health reports
	// the 404. [WaitForSync] still waits for the kind. It is in effect if all that share the
	// informer set it.
	Optional bool
	// Transform and Indexer are as in [Options]. They belong to the informer: what
	// the first call of For gives is in effect for all that share it, and later
	// calls leave them out. Functions cannot be compared, so informers that differ
	// in them need a Variant.
	Transform func(T) (T, error)
	Indexer   indexer.Options[T]
	// Name, QueueLimit, InitialObjects, Logger, Metrics and Reflector are as in
	// [Options], and belong to the informer like Transform; what is zero is as the
	// factory says. The default of Name says what distinguishes the informers of a
	// factory, without spaces, such as "Pod/metadata/app=web".
	Name           string
	QueueLimit     int
	InitialObjects iter.Seq[T]
	Logger         *slog.Logger
	Metrics        MetricsProvider
	Reflector      reflector.Options
	// MaxObjectSize, MaxObjects and MaxBytes bound what is read; see
	// [reflector.ResourceOptions]. They belong to the informer as well.
	MaxObjectSize, MaxObjects int
	MaxBytes                  int64
	// Variant, if set, names a combination of Transform and Indexer: calls of the
	// same Variant share an informer, and are taken to give the same ones.
	Variant string
}

// Layer is how a package such as sharding creates the informers of a [Factory]: New gets
// the source and the options of the informer, and Name distinguishes it from others of its type.
type Layer[T Object] struct {
	Name string
	New  func(lw reflector.ListerWatcher[T], opts Options[T]) (*Informer[T], error)
}

// Shared is a reference to an informer that a [Factory] runs and that others may
// use too. So it can neither stop it nor change what it reads.
type Shared[T Object] interface {
	Cache[T]
	// Release gives the reference back. The informer stops when all have been
	// released, and its handlers with it; a handler that should end earlier must be
	// removed. Release may be called more than once.
	Release()
}

// reference is a [Shared].
type reference[T Object] struct {
	Cache[T]
	release func()
}

// Release gives the reference back.
func (r *reference[T]) Release() { r.release() }

// share is an informer with the number of its users.
//
// It is in the factory's map until it has no users, or has failed and was replaced.
type share[T Object] struct {
	*Informer[T]
	builder builder[T]
	users   int    // the rest is guarded by the factory's mu
	stop    func() // not nil once begun
	begun   bool
}

// addNamespace makes the informer read one more namespace, unless it reads all.
//
// The factory's mutex is held: see Factory.AddNamespace.
func (s *share[T]) addNamespace(namespace string) error {
	if !s.namespaced {
		return nil
	}
	lw, err := s.builder.source(namespace)
	if err != nil {
		return err
	}
	return s.AddNamespace(namespace, lw)
}

// removeNamespace makes the informer read one namespace less.
//
// It waits for the requests that are running, so it must not be called with the
// factory's mutex held.
func (s *share[T]) removeNamespace(namespace string) { s.RemoveNamespace(namespace) }

// begin is called with the factory's mutex held.
func (s *share[T]) begin(launch func(func(context.Context) error) func()) {
	if !s.begun {
		s.begun = true
		s.stop = launch(s.Run)
	}
}

// For returns the factory's informer of T, with at most one [ForOptions]: one that
// was asked for before and is not released, or a new one. If the factory has been
// started, so has the informer. The caller must Release it when it is not needed
// any more.
//
// T may be a pointer to a generated type, *unstructured.Unstructured or
// *metav1.PartialObjectMetadata. For waits for a resource that the server does not serve yet.
// A 404 later on deletes nothing: the cache keeps its objects until a list succeeds.
func For[T Object](f *Factory, options ...ForOptions[T]) (Shared[T], error) {
	if f == nil {
		return nil, errNoFactory
	}
	var opts ForOptions[T]
	switch len(options) {
	case 0:
	case 1:
		opts = options[0]
	default:
		return nil, fmt.Errorf("informer: For got %d ForOptions; pass one at most", len(options))
	}
	// Held to the end: two calls for the same key must not make two informers.
	f.mu.Lock()
	defer f.mu.Unlock()
	// Before the key is made: options that name the kind and options that leave it to
	// the scheme are the same informer.
	if err := opts.complete(f); err != nil {
		return nil, err
	}
	key := sharedKey{
		typ: reflect.TypeFor[T](), resource: opts.Resource, kind: opts.Kind,
		label: opts.LabelSelector, field: opts.FieldSelector,
		whole: opts.Whole, layer: opts.Layer.Name, variant: opts.Variant,
	}
	if f.down {
		return nil, fmt.Errorf("informer: the factory was shut down: %w", ErrStopped)
	}
	s, ok := f.shared[key].(*share[T])
	switch {
	case !ok || isClosed(s.Done()): // one whose source has failed for good is of no use
		b := builder[T]{f, opts, f.spaces}
		inf, err := b.build()
		if err != nil {
			return nil, err
		}
		inf.optional.Store(opts.Optional)
		s = &share[T]{Informer: inf, builder: b}
		f.shared[key] = s
	case opts.Variant == "" && (opts.Transform != nil || len(opts.Indexer.Indexes) > 0):
		return nil, fmt.Errorf("informer: there is an informer of %s already, whose Transform or Indexer may be others, as functions cannot be compared; leave them out to share it and add indexes with AddIndex, or set ForOptions.Variant to a name for them", typeOf[T]())
	}
	if !opts.Optional {
		s.optional.Store(false)
	}
	s.users++
	// After the count: an informer that runs has at least one user.
	if f.launch != nil {
		s.begin(f.launch)
	}
	return &reference[T]{Cache: s.Informer, release: sync.OnceFunc(func() { release(f, key, s) })}, nil
}

// release takes one user off, and stops an informer that has none left.
func release[T Object](f *Factory, key sharedKey, s *share[T]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.users--; s.users > 0 {
		return
	}
	// For may have put another informer in the place of one that failed.
	if f.shared[key] == sharedInformer(s) {
		delete(f.shared, key)
	}
	if s.stop != nil {
		s.stop()
	}
}

// errNoFactory is for functions that take a factory and got nil.
var errNoFactory = errors.New("informer: the factory is nil; make one with NewFactory")

// complete checks the options and finds the kind.
func (o *ForOptions[T]) complete(f *Factory) error {
	// Checked here, as the server's refusal would show only as an informer that never syncs.
	if _, err := labels.Parse(o.LabelSelector); err != nil {
		return fmt.Errorf("informer: ForOptions.LabelSelector %q: %w", o.LabelSelector, err)
	}
	if _, err := fields.ParseSelector(o.FieldSelector); err != nil {
		return fmt.Errorf("informer: ForOptions.FieldSelector %q: %w", o.FieldSelector, err)
	}
	switch {
	case o.Resource.Resource != "" && o.Kind.Kind != "":
		return errors.New("informer: ForOptions has both a Resource and a Kind; set one of the two")
	case o.Resource.Resource != "":
		return nil
	case o.Resource != schema.GroupVersionResource{}:
		return fmt.Errorf("informer: ForOptions.Resource %v has no plural name", o.Resource)
	case o.Kind.Kind != "":
		for _, segment := range []string{o.Kind.Group, o.Kind.Version} { // one such as ".." would lead to another path
			if wrong := content.IsPathSegmentName(segment); len(wrong) > 0 {
				return fmt.Errorf("informer: ForOptions.Kind %v: %q cannot be part of a URL: it %s", o.Kind, segment, wrong[0])
			}
		}
		return nil
	case f.opts.Scheme == nil:
		return fmt.Errorf("informer: which resource holds %s? Set ForOptions.Resource, ForOptions.Kind or FactoryOptions.Scheme", typeOf[T]())
	}
	// A scheme finds the kind by the Go type of a value, so it needs one.
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

// builder creates an informer from options.
// It is kept by share, for the sources of namespaces that are added later.
type builder[T Object] struct {
	f          *Factory
	opts       ForOptions[T]
	namespaces []string // of the factory when the informer was made
}

// build returns an informer, with a source for each namespace that it is to read.
func (b builder[T]) build() (*Informer[T], error) {
	if !b.f.opts.ByNamespace || b.opts.Whole {
		lw, err := b.source("")
		switch {
		case err != nil:
			return nil, err
		case b.opts.Layer.New != nil:
			return b.opts.Layer.New(lw, b.options())
		}
		return New(lw, b.options())
	}
	if b.opts.Layer.New != nil {
		return nil, errors.New("informer: the factory reads namespaces, which cannot be combined with ForOptions.Layer; set ForOptions.Whole")
	}
	inf, err := NewNamespaced[T](nil, b.options())
	// The informer does not run yet: an error leaves nothing behind that must be stopped.
	for _, namespace := range b.namespaces {
		if err != nil {
			break
		}
		var lw reflector.ListerWatcher[T]
		if lw, err = b.source(namespace); err == nil {
			err = inf.AddNamespace(namespace, lw)
		}
	}
	return inf, err
}

// options merges the options of For with those of the factory.
func (b builder[T]) options() Options[T] {
	f, opts := &b.f.opts, b.opts
	merged := Options[T]{
		Name:           cmp.Or(opts.Name, b.name()),
		Logger:         cmp.Or(opts.Logger, f.Logger),
		Transform:      opts.Transform,
		Reflector:      f.Reflector,
		Indexer:        opts.Indexer,
		QueueLimit:     opts.QueueLimit,
		InitialObjects: opts.InitialObjects,
		ResyncPeriod:   f.ResyncPeriod,
		Metrics:        opts.Metrics,
		History:        f.History,
	}
	if merged.Metrics == nil {
		merged.Metrics = f.Metrics
	}
	// The options of an informer replace those of the factory as a whole. Only the policy
	// is inherited: without it, a resource that is missing would be asked for ever more rarely.
	if !reflect.ValueOf(opts.Reflector).IsZero() {
		merged.Reflector = opts.Reflector
		if merged.Reflector.Policy == nil {
			merged.Reflector.Policy = f.Reflector.Policy
		}
	}
	// The factory's comes first, and an error of it ends the matter: the second must
	// not get an object that the first has refused.
	if f.Transform != nil {
		merged.Transform = func(obj T) (T, error) {
			if err := f.Transform(obj); err != nil || opts.Transform == nil {
				return obj, err
			}
			return opts.Transform(obj)
		}
	}
	return merged
}

// source returns what reads a namespace, or all if it is empty.
func (b builder[T]) source(namespace string) (reflector.ListerWatcher[T], error) {
	// No request is made here: a resource that is not served yet is found later.
	return &collection[T]{
		cfg: b.f.cfg, discovery: b.f.discovery, gvk: b.opts.Kind, gvr: b.opts.Resource, tweak: b.f.opts.TweakListOptions,
		opts: reflector.ResourceOptions{
			Namespace: namespace, LabelSelector: b.opts.LabelSelector, FieldSelector: b.opts.FieldSelector,
			MaxObjectSize: cmp.Or(b.opts.MaxObjectSize, b.f.opts.MaxObjectSize),
			MaxObjects:    cmp.Or(b.opts.MaxObjects, b.f.opts.MaxObjects),
			MaxBytes:      cmp.Or(b.opts.MaxBytes, b.f.opts.MaxBytes),
		},
	}, nil
}

// name returns what distinguishes the factory's informers in logs and metrics.
func (b builder[T]) name() string {
	parts := []string{b.opts.Resource.GroupResource().String()}
	if b.opts.Resource.Resource == "" {
		parts[0] = b.opts.Kind.GroupKind().String()
	}
	switch reflect.TypeFor[T]() {
	case reflect.TypeFor[*unstructured.Unstructured]():
		parts = append(parts, "unstructured")
	case reflect.TypeFor[*metav1.PartialObjectMetadata]():
		parts = append(parts, "metadata")
	}
	if b.opts.Whole && b.f.opts.ByNamespace {
		parts = append(parts, "whole")
	}
	if b.opts.Layer.Name != "" {
		parts = append(parts, b.opts.Layer.Name)
	}
	for _, p := range []string{b.opts.LabelSelector, b.opts.FieldSelector, b.opts.Variant} {
		if p != "" {
			parts = append(parts, strings.Join(strings.Fields(p), "+"))
		}
	}
	return strings.Join(parts, "/")
}
