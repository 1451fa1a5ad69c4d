package clientgo

import (
	"fmt"
	"maps"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	upstream "k8s.io/client-go/tools/cache"

	"github.com/informerkit/informerkit/informer"
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
// An object of another type than the example, or of another kind if the example is
// unstructured, is reported as one that cannot be decoded. A nil example admits all
// objects. Metrics are those of informer.Options, so Identifier and
// InformerMetricsProvider have no effect. It panics if lw or an index function is nil.
func NewSharedIndexInformerWithOptions(lw upstream.ListerWatcher, example runtime.Object, options upstream.SharedIndexInformerOptions) *SharedInformer[informer.Object] {
	like := sameType{reflect.TypeOf(example), schema.GroupVersionKind{}}
	if u, ok := example.(runtime.Unstructured); ok {
		like.kind = u.GetObjectKind().GroupVersionKind()
	}
	name := options.ObjectDescription
	if name == "" {
		name = like.String()
	}
	made, err := NewSharedInformer(NewSource[informer.Object](lw), options.ResyncPeriod,
		informer.Options[informer.Object]{Name: name, Transform: like.check})
	if err != nil {
		panic(err) // client-go's function returns no error; this is a mistake in the program
	}
	indexers := maps.Clone(options.Indexers)
	delete(indexers, upstream.NamespaceIndex) // it is always there
	if err := made.AddIndexers(indexers); err != nil {
		panic(err)
	}
	return made
}

// sameType is what the objects of an informer have in common when their type is not
// known to the compiler.
type sameType struct {
	goType reflect.Type            // nil: any
	kind   schema.GroupVersionKind // empty: any
}

// check is a transform that refuses objects of other types.
func (s sameType) check(obj informer.Object) (informer.Object, error) {
	if t := reflect.TypeOf(obj); s.goType != nil && t != s.goType {
		return obj, fmt.Errorf("it is a %s, not a %s", t, s.goType)
	}
	if kind := obj.GetObjectKind().GroupVersionKind(); !s.kind.Empty() && kind != s.kind {
		return obj, fmt.Errorf("it is a %s, not a %s", kind, s.kind)
	}
	return obj, nil
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
