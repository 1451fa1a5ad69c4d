package sharding

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	objects "github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/internal/httpclient"
	"github.com/informerkit/informerkit/reflector"
)

// client reads and writes the Leases of a group. Each method is one request, and may
// be called concurrently. Errors are those of apimachinery's api/errors where the
// server has answered.
type client interface {
	// source lists and watches the Leases of the group.
	source() reflector.ListerWatcher[*lease]
	get(ctx context.Context, name string) (*lease, error)
	// create fails if there is a Lease of that name.
	create(ctx context.Context, l *lease) (*lease, error)
	// update fails with a conflict if the Lease has been written since l was read, or
	// deleted.
	update(ctx context.Context, l *lease) (*lease, error)
	// remove deletes l, under the same condition, as far as l has a UID and a
	// resourceVersion.
	remove(ctx context.Context, l *lease) error
}

// httpClient is the client of an API server. Requests bypass the rate limits of
// rest.Config: a renewal that waits for its turn comes too late.
type httpClient struct {
	leases    *objects.Client[*lease]
	lw        reflector.ListerWatcher[*lease]
	namespace string
}

// newClient returns the client of a group. It makes no request.
func newClient(cfg *rest.Config, n names) (*httpClient, error) {
	cfg, err := httpclient.Share(cfg)
	if err != nil {
		return nil, err
	}
	lw, err := reflector.NewResource[*lease](cfg, leaseResource, reflector.ResourceOptions{
		Namespace: n.namespace, LabelSelector: GroupLabel + "=" + n.group, Kind: "Lease", Encoding: reflector.EncodingJSON,
	})
	if err != nil {
		return nil, err
	}
	cfg = rest.CopyConfig(cfg)
	cfg.QPS, cfg.RateLimiter = -1, nil
	cfg.Timeout = 0 // each request has a deadline of its own
	leases, err := objects.New[*lease](cfg, leaseResource, objects.Options{Kind: "Lease"})
	return &httpClient{leases, lw, n.namespace}, err
}

func (c *httpClient) source() reflector.ListerWatcher[*lease] { return c.lw }

func (c *httpClient) get(ctx context.Context, name string) (*lease, error) {
	return c.leases.Get(ctx, types.NamespacedName{Namespace: c.namespace, Name: name})
}

func (c *httpClient) create(ctx context.Context, l *lease) (*lease, error) {
	return c.leases.Create(ctx, l)
}

// update carries the UID and the resourceVersion. The UID matters: kube-apiserver
// would create a Lease that is not there.
func (c *httpClient) update(ctx context.Context, l *lease) (*lease, error) {
	return c.leases.Update(ctx, l)
}

func (c *httpClient) remove(ctx context.Context, l *lease) error {
	return c.leases.Delete(ctx, types.NamespacedName{Namespace: l.Namespace, Name: l.Name}, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: nonZero(l.UID), ResourceVersion: nonZero(l.ResourceVersion)},
	})
}

// nonZero returns a pointer to v, or nil for the zero value.
func nonZero[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
