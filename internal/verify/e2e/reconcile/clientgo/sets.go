package clientgo

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/informerkit/informerkit/examples/replicaset/api"
)

// SetClient is what a generated clientset has for the sets of a namespace.
type SetClient = gentype.ClientWithList[*api.ReplicaSet, *ReplicaSetList]

// NewSetClient returns what a generated clientset has for the kind: the client of each namespace.
func NewSetClient(cfg *rest.Config) (func(namespace string) *SetClient, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.GroupVersion = &api.GroupVersion
	cfg.APIPath = "/apis"
	cfg.ContentType = runtime.ContentTypeJSON
	cfg.AcceptContentTypes = runtime.ContentTypeJSON
	cfg.NegotiatedSerializer = serializer.NewCodecFactory(scheme()).WithoutConversion()
	client, err := rest.RESTClientFor(cfg)
	return func(namespace string) *SetClient {
		return gentype.NewClientWithList(api.Resource, client, metav1.ParameterCodec, namespace,
			func() *api.ReplicaSet { return &api.ReplicaSet{} }, func() *ReplicaSetList { return &ReplicaSetList{} })
	}, err
}

// listWatch returns what an informer reads from.
func listWatch(sets *SetClient) cache.ListerWatcher {
	client := sets.GetClient()
	return cache.ToListWatcherWithWatchListSemantics(
		cache.NewListWatchFromClient(client, api.Resource, sets.GetNamespace(), fields.Everything()), client)
}
