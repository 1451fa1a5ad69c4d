package script

import (
	"context"

	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/examples/demo"
	"github.com/informerkit/informerkit/examples/replicaset/api"
)

// Install installs the example's CRD, and returns when the API server serves the
// kind. The CRD may be installed already.
func Install(ctx context.Context, cfg *rest.Config) error { return demo.Install(ctx, cfg, api.CRD) }
