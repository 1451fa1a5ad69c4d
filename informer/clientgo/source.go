package clientgo

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	upstream "k8s.io/client-go/tools/cache"

	"github.com/informerkit/informerkit/reflector"
)

// NewSource returns a ListerWatcher of client-go, for example one that selects fields
// or that a test feeds, as the source of an informer. T is the type of its objects;
// others are reported as objects that cannot be decoded.
//
// A list is in memory as a whole. What [reflector.NewResource] reads is decoded object
// by object. A nil lw panics.
func NewSource[T reflector.Object](lw upstream.ListerWatcher) reflector.ListerWatcher[T] {
	if lw == nil {
		panic("clientgo: NewSource needs a ListerWatcher, for example a cache.ListWatch")
	}
	// Those that have no methods with a context get them here. Their requests do not
	// end with the context, only what waits for them.
	withContext := upstream.ToListerWatcherWithContext(lw)
	return reflector.FromFuncs[T](
		func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return withContext.ListWithContext(ctx, opts)
		},
		func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			return withContext.WatchWithContext(ctx, opts)
		})
}
