package leader

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/internal/httpclient"
)

// lease is a Lease with client-go's leader election record.
type lease struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		HolderIdentity       string            `json:"holderIdentity"` // "" after a release
		LeaseDurationSeconds int32             `json:"leaseDurationSeconds"`
		AcquireTime          *metav1.MicroTime `json:"acquireTime,omitempty"`
		RenewTime            *metav1.MicroTime `json:"renewTime,omitempty"`
		LeaseTransitions     int32             `json:"leaseTransitions"`
	} `json:"spec"`
}

// holder returns the holder, "" if there is none.
func (l *lease) holder() string {
	if l == nil {
		return ""
	}
	return l.Spec.HolderIdentity
}

func (l *lease) duration() time.Duration {
	return time.Duration(l.Spec.LeaseDurationSeconds) * time.Second
}

// client reads and writes one Lease.
type client struct {
	rest            *rest.RESTClient
	namespace, name string
}

func newClient(cfg *rest.Config, namespace, name string) (*client, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.APIPath, cfg.GroupVersion = "/apis", &schema.GroupVersion{Group: "coordination.k8s.io", Version: "v1"}
	cfg.ContentType, cfg.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	cfg.Timeout = 0 // each request has a deadline of its own
	cfg.QPS = -1    // a renewal that waits for its turn comes too late
	cfg.RateLimiter = nil
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"}) // Status, to decode errors
	cfg.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	h, err := httpclient.For(cfg)
	if err != nil {
		return nil, err
	}
	c, err := rest.RESTClientForConfigAndClient(cfg, h)
	return &client{c, namespace, name}, err
}

// record returns the Lease as holder writes it; read is what it replaces, nil if there is none.
func (c *client) record(read *lease, holder string, duration time.Duration, now time.Time) *lease {
	l := &lease{TypeMeta: metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"}}
	l.Namespace, l.Name = c.namespace, c.name
	stamp := metav1.NewMicroTime(now.UTC())
	if read != nil {
		// With UID and version: the server accepts the write of one replica only.
		l.ObjectMeta, l.Spec = read.ObjectMeta, read.Spec
	}
	if read == nil || holder != read.Spec.HolderIdentity {
		l.Spec.AcquireTime = &stamp
		if read != nil && holder != "" {
			l.Spec.LeaseTransitions++
		}
	}
	l.Spec.HolderIdentity, l.Spec.RenewTime = holder, &stamp
	l.Spec.LeaseDurationSeconds = int32(math.Ceil(duration.Seconds()))
	if holder == "" {
		l.Spec.LeaseDurationSeconds = 1 // as client-go writes it: the server refuses 0
	}
	return l
}

// do sends one request; a PUT of a Lease that was never read creates it.
func (c *client) do(ctx context.Context, verb string, body *lease) (*lease, error) {
	request := c.rest.Verb(verb).Namespace(c.namespace).Resource("leases").MaxRetries(0)
	switch {
	case body == nil:
		request.Name(c.name)
	case body.ResourceVersion == "":
		request.Verb("POST")
	default:
		request.Name(c.name)
	}
	if body != nil {
		content, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		request.SetHeader("Content-Type", runtime.ContentTypeJSON).Body(content)
	}
	result := request.Do(ctx)
	if err := result.Error(); err != nil { // in contrast to that of Raw, with the server's words
		return nil, err
	}
	answer, err := result.Raw()
	if err != nil {
		return nil, err
	}
	l := &lease{}
	if err := json.Unmarshal(answer, l); err != nil || l.Name != c.name || l.ResourceVersion == "" {
		return nil, fmt.Errorf("the answer to a request for the Lease %s/%s is not a Lease: is this the address of an API server?", c.namespace, c.name)
	}
	return l, nil
}

// refused reports whether the server has answered that it did not write. A timeout, or an error
// within the server, does not say so.
func refused(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code >= 400 && code < 500 && code != http.StatusRequestTimeout
}
