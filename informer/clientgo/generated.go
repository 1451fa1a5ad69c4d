package clientgo

import (
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"runtime/debug"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	upstream "k8s.io/client-go/tools/cache"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/reflector"
)

// NewSharedIndexInformer has the arguments of client-go's function of that name; see
// [NewSharedIndexInformerWithOptions].
func NewSharedIndexInformer(lw upstream.ListerWatcher, example runtime.Object, resync time.Duration, indexers upstream.Indexers) *SharedInformer[informer.Object] {
	return NewSharedIndexInformerWithOptions(lw, example, upstream.SharedIndexInformerOptions{ResyncPeriod: resync, Indexers: indexers})
}

// NewSharedIndexInformerWithOptions has the arguments of client-go's function of that
// name, and is for code that is generated from types: such code learns the type of the
// objects from an example. In your own code [NewSharedInformer] has options, and the
// type is checked by the compiler.
//
// The informer behaves as client-go's in what a program can see: its handlers get nothing
// before the start, its logs go to klog or to the logger of the context, failures to the
// watch error handler, panics of handlers to utilruntime.PanicHandlers, and
// KUBE_CACHE_MUTATION_DETECTOR is honoured. An event with an object of another type than
// the example, or of another kind if the example is unstructured, is reported and dropped;
// a nil example admits all objects. It panics if lw or an index function is nil.
func NewSharedIndexInformerWithOptions(lw upstream.ListerWatcher, example runtime.Object, options upstream.SharedIndexInformerOptions) *SharedInformer[informer.Object] {
	return newClassic(lw, example, options, 0)
}

// newClassic returns an informer for a program that knows nothing of ours. A watch is kept
// open for at least minWatch, if that is not 0.
func newClassic(lw upstream.ListerWatcher, example runtime.Object, options upstream.SharedIndexInformerOptions, minWatch time.Duration) *SharedInformer[informer.Object] {
	like := sameType{reflect.TypeOf(example), schema.GroupVersionKind{}}
	if u, ok := example.(runtime.Unstructured); ok {
		like.kind = u.GetObjectKind().GroupVersionKind()
	}
	name := options.ObjectDescription
	if name == "" {
		name = like.String()
	}
	c := &classic{intake: newIntake(like), log: newLogHandler(), errors: newWatchErrors(lw, example, name)}
	c.intake.errors = c.errors
	ropts := reflector.Options{Policy: c.errors.failed, OnQuarantine: c.errors.quarantined}
	ropts.Timeouts.Watch = minWatch
	made, err := informer.New[informer.Object](newSource(lw, c.intake.take), informer.Options[informer.Object]{
		Name: name, Logger: slog.New(c.log), Reflector: ropts,
		Metrics: newMetrics(options.Identifier, options.InformerMetricsProvider),
	})
	if err != nil {
		panic(err) // client-go's function returns no error; this is a mistake in the program
	}
	s := FromInformer[informer.Object](made, options.ResyncPeriod)
	s.classic = c
	s.indexer = newIndexer[informer.Object](made)
	s.indexer.edit, s.indexer.take = made.Edit, boxAny
	if err := s.AddIndexers(options.Indexers); err != nil {
		panic(err)
	}
	return s
}

// intake turns what a source delivers into what is stored.
type intake struct {
	like      sameType
	transform upstream.TransformFunc    // not changed after the start
	share     func(any) (any, error)    // nil: nothing is shared
	detector  upstream.MutationDetector // nil: KUBE_CACHE_MUTATION_DETECTOR is not set
	errors    *watchErrors
}

func newIntake(like sameType) *intake {
	in := &intake{like: like, share: newShare()}
	if on, _ := strconv.ParseBool(os.Getenv("KUBE_CACHE_MUTATION_DETECTOR")); on {
		in.detector = upstream.NewCacheMutationDetector(fmt.Sprintf("%v", like.goType))
	}
	return in
}

// take returns what is stored for an object. It is called by the goroutine of the
// reflector.
func (in *intake) take(obj runtime.Object, r received) (informer.Object, error) {
	acc, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	// As client-go: a list is taken as it is.
	if r.event != "" {
		if err := in.like.check(obj); err != nil {
			utilruntime.HandleErrorWithContext(in.errors.ctx, err, "Unexpected watch event object", "informer", in.errors.name, "object", formatKey(keyOfMeta(acc)))
			return nil, errSkipped
		}
	}
	meta := &metav1.ObjectMeta{Namespace: acc.GetNamespace(), Name: acc.GetName(), UID: acc.GetUID(), ResourceVersion: acc.GetResourceVersion()}
	content, acc, err := in.apply(obj, meta)
	if err != nil {
		return nil, &reflector.ObjectError{
			Key: keyOfMeta(meta), UID: meta.UID, ResourceVersion: meta.ResourceVersion, Class: reflector.ClassTransform, Err: err,
		}
	}
	if in.share != nil && !r.fake {
		if content, err = in.share(content); err != nil {
			return nil, err
		}
	}
	if in.detector != nil && r.event != watch.Deleted {
		in.detector.AddObject(content)
	}
	return box(content, acc, r.unversioned), nil
}

// apply calls the transform, which owns obj, and returns what it made of it, and the
// metadata of that: what was received if it has none. UID and resourceVersion are put back
// if it has blanked them, so that unchanged objects are found to be unchanged.
func (in *intake) apply(obj runtime.Object, received *metav1.ObjectMeta) (content any, acc metav1.Object, err error) {
	defer func() {
		// Of one object, so that it is quarantined, and all others are read.
		if p := recover(); p != nil {
			err = fmt.Errorf("the transform panicked: %v\n%s", p, debug.Stack())
		}
	}()
	content = obj
	if in.transform != nil {
		if content, err = in.transform(obj); err != nil {
			return nil, nil, err
		}
	}
	acc, err = meta.Accessor(content)
	if err != nil {
		return content, received, nil
	}
	if acc.GetUID() == "" && received.UID != "" {
		acc.SetUID(received.UID)
	}
	if acc.GetResourceVersion() == "" && received.ResourceVersion != "" {
		acc.SetResourceVersion(received.ResourceVersion)
	}
	return content, acc, nil
}

// sameType is what the objects of an informer have in common when their type is not
// known to the compiler.
type sameType struct {
	goType reflect.Type            // nil: any
	kind   schema.GroupVersionKind // empty: any
}

// check refuses objects of other types.
func (s sameType) check(obj runtime.Object) error {
	if t := reflect.TypeOf(obj); s.goType != nil && t != s.goType {
		return fmt.Errorf("it is a %s, not a %s", t, s.goType)
	}
	if kind := obj.GetObjectKind().GroupVersionKind(); !s.kind.Empty() && kind != s.kind {
		return fmt.Errorf("it is a %s, not a %s", kind, s.kind)
	}
	return nil
}

// String names the objects, as client-go's reflector does.
func (s sameType) String() string {
	switch {
	case s.goType == nil:
		return "objects"
	case !s.kind.Empty():
		return s.kind.Kind
	case s.goType.Kind() == reflect.Pointer:
		return s.goType.Elem().Name()
	}
	return s.goType.Name()
}
