// Package informers takes the place of k8s.io/client-go/informers in sample-controller.
package informers

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers/apps"
	"k8s.io/client-go/kubernetes"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/clientgo/informers"
	"github.com/informerkit/informerkit/reflector"
)

// Factory has the methods of client-go's factory that sample-controller calls.
type Factory struct{ *informers.Factory }

// NewSharedInformerFactory returns a factory whose informer of Deployments is one of
// this library. It has no client: it could not make one of client-go's by mistake.
func NewSharedInformerFactory(client kubernetes.Interface, resync time.Duration) Factory {
	deployments := client.AppsV1().Deployments(metav1.NamespaceAll)
	source := reflector.FromFuncs[*appsv1.Deployment](deployments.List, deployments.Watch)
	inf, err := informer.New(source, informer.Options[*appsv1.Deployment]{})
	if err != nil {
		panic(err) // of the options alone
	}
	factory := informers.NewFactory(nil, resync)
	informers.Provide(factory, inf)
	return Factory{factory}
}

// Apps returns client-go's generated informers of the group apps.
func (f Factory) Apps() apps.Interface { return apps.New(f.Factory, metav1.NamespaceAll, nil) }
