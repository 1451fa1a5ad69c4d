package clientgo

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/listers"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/informerkit/informerkit/examples/replicaset/api"
)

// setClient does what a clientset generated for the kind would do, as far as the
// controller needs it.
type setClient struct{ rest *rest.RESTClient }

func newSetClient(cfg *rest.Config) (*setClient, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.GroupVersion = &api.GroupVersion
	cfg.APIPath = "/apis"
	cfg.ContentType = runtime.ContentTypeJSON
	cfg.AcceptContentTypes = runtime.ContentTypeJSON
	cfg.NegotiatedSerializer = serializer.NewCodecFactory(Scheme()).WithoutConversion()
	client, err := rest.RESTClientFor(cfg)
	return &setClient{client}, err
}

// listWatch returns what an informer reads from.
func (c *setClient) listWatch(namespace string) cache.ListerWatcher {
	return cache.ToListWatcherWithWatchListSemantics(
		cache.NewListWatchFromClient(c.rest, api.Resource, namespace, fields.Everything()), c.rest)
}

// get reads a set past the cache.
func (c *setClient) get(ctx context.Context, namespace, name string) (*api.ReplicaSet, error) {
	set := &api.ReplicaSet{}
	return set, c.rest.Get().Namespace(namespace).Resource(api.Resource).Name(name).
		VersionedParams(&metav1.GetOptions{}, metav1.ParameterCodec).Do(ctx).Into(set)
}

// updateStatus replaces the status of a set and returns the set as stored.
func (c *setClient) updateStatus(ctx context.Context, set *api.ReplicaSet) (*api.ReplicaSet, error) {
	written := &api.ReplicaSet{}
	return written, c.rest.Put().Namespace(set.Namespace).Resource(api.Resource).Name(set.Name).SubResource("status").
		Body(set).Do(ctx).Into(written)
}

// setLister does what a generated lister would do.
type setLister struct {
	listers.ResourceIndexer[*api.ReplicaSet]
}

func newSetLister(indexer cache.Indexer) setLister {
	return setLister{listers.New[*api.ReplicaSet](indexer, api.GroupVersionResource.GroupResource())}
}

func (l setLister) get(namespace, name string) (*api.ReplicaSet, error) {
	return listers.NewNamespaced(l.ResourceIndexer, namespace).Get(name)
}

func (l setLister) list(namespace string) ([]*api.ReplicaSet, error) {
	return listers.NewNamespaced(l.ResourceIndexer, namespace).List(labels.Everything())
}
