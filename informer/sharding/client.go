package sharding

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

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
	http   *http.Client
	leases string // the URL of the collection
	lw     reflector.ListerWatcher[*lease]
}

// newClient returns the client of a group. It makes no request.
func newClient(cfg *rest.Config, n names) (*httpClient, error) {
	lw, err := reflector.NewResource[*lease](cfg, leaseResource, reflector.ResourceOptions{
		Namespace: n.namespace, LabelSelector: GroupLabel + "=" + n.group, Kind: "Lease", Encoding: reflector.EncodingJSON,
	})
	if err != nil {
		return nil, err
	}
	cfg = rest.CopyConfig(cfg)
	cfg.Timeout = 0 // each request has a deadline of its own
	h, err := httpclient.For(cfg)
	if err != nil {
		return nil, err
	}
	base, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return nil, err
	}
	return &httpClient{
		http: h, lw: lw,
		leases: base.JoinPath("apis", leaseResource.Group, leaseResource.Version, "namespaces", n.namespace, leaseResource.Resource).String(),
	}, nil
}

func (c *httpClient) source() reflector.ListerWatcher[*lease] { return c.lw }

func (c *httpClient) get(ctx context.Context, name string) (*lease, error) {
	return c.lease(ctx, http.MethodGet, name, nil)
}

func (c *httpClient) create(ctx context.Context, l *lease) (*lease, error) {
	return c.lease(ctx, http.MethodPost, "", l)
}

// update carries the UID and the resourceVersion. The UID matters: kube-apiserver
// would create a Lease that is not there.
func (c *httpClient) update(ctx context.Context, l *lease) (*lease, error) {
	return c.lease(ctx, http.MethodPut, l.Name, l)
}

func (c *httpClient) remove(ctx context.Context, l *lease) error {
	_, err := c.do(ctx, http.MethodDelete, l.Name, &metav1.DeleteOptions{
		TypeMeta:      metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"},
		Preconditions: &metav1.Preconditions{UID: nonZero(l.UID), ResourceVersion: nonZero(l.ResourceVersion)},
	})
	return err
}

// nonZero returns a pointer to v, or nil for the zero value.
func nonZero[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// lease sends a request whose answer is a Lease.
func (c *httpClient) lease(ctx context.Context, method, name string, body any) (*lease, error) {
	answer, err := c.do(ctx, method, name, body)
	if err != nil {
		return nil, err
	}
	out := &lease{}
	if err := json.Unmarshal(answer, out); err != nil || out.Name == "" {
		return nil, fmt.Errorf("the answer to %s %s is not a Lease: is this the address of an API server?", method, c.leases)
	}
	return out, nil
}

// maxAnswer bounds an answer, in bytes. etcd stores no larger object.
const maxAnswer = 4 << 20

// do sends a request and returns the body of its answer.
func (c *httpClient) do(ctx context.Context, method, name string, body any) ([]byte, error) {
	var content io.Reader = http.NoBody
	if body != nil && body != (*lease)(nil) {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(raw)
	}
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.leases+"/"+name, "/"), content)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= 200 && response.StatusCode < 300 {
		return answer, nil
	}
	var status metav1.Status
	if json.Unmarshal(answer, &status) == nil && status.Kind == "Status" {
		return nil, &apierrors.StatusError{ErrStatus: status}
	}
	return nil, apierrors.NewGenericServerResponse(response.StatusCode, method, leaseResource.GroupResource(), name, http.StatusText(response.StatusCode), 0, true)
}
