package scenario

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/replicaset/api"
)

// Install makes the API server serve the example's kind, and returns when it
// does. It may be installed already.
func Install(ctx context.Context, cfg *rest.Config) error {
	body, err := yaml.ToJSON(api.CRD)
	if err != nil {
		return fmt.Errorf("crd.yaml: %w", err)
	}
	cfg = rest.CopyConfig(cfg)
	cfg.NegotiatedSerializer = serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion()
	client, err := rest.UnversionedRESTClientFor(cfg)
	if err != nil {
		return err
	}
	err = client.Post().AbsPath("/apis/apiextensions.k8s.io/v1/customresourcedefinitions").
		SetHeader("Content-Type", runtime.ContentTypeJSON).Body(body).Do(ctx).Error()
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("install the custom resource definition: %w", err)
	}

	// The server answers before it serves: ask until the path is there.
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := client.Get().AbsPath("/apis", api.Group, api.Version, api.Resource).Do(ctx).Error()
		if !apierrors.IsNotFound(err) {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("install the custom resource definition: the kind is still not served: %w", ctx.Err())
		}
	}
}
