// Package cache takes the place of k8s.io/client-go/tools/cache in a generated informer.
package cache

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"github.com/informerkit/informerkit/informer/clientgo"
)

// These are what the generated code names besides the constructor.
type (
	// Indexers is client-go's.
	Indexers = cache.Indexers
	// ListWatch is client-go's.
	ListWatch = cache.ListWatch
	// SharedIndexInformer is client-go's.
	SharedIndexInformer = cache.SharedIndexInformer
	// SharedIndexInformerOptions is client-go's.
	SharedIndexInformerOptions = cache.SharedIndexInformerOptions
)

// NamespaceIndex is the name of the index that generated listers use.
const NamespaceIndex = cache.NamespaceIndex

// MetaNamespaceIndexFunc is client-go's.
func MetaNamespaceIndexFunc(obj any) ([]string, error) { return cache.MetaNamespaceIndexFunc(obj) }

// ToListWatcherWithWatchListSemantics is client-go's.
func ToListWatcherWithWatchListSemantics(lw *ListWatch, client any) cache.ListerWatcher {
	return cache.ToListWatcherWithWatchListSemantics(lw, client)
}

// NewSharedIndexInformerWithOptions returns an informer of this library.
func NewSharedIndexInformerWithOptions(lw cache.ListerWatcher, example runtime.Object, options SharedIndexInformerOptions) SharedIndexInformer {
	return clientgo.NewSharedIndexInformerWithOptions(lw, example, options)
}
