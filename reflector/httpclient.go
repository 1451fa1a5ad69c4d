package reflector

import (
	"net/http"

	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/internal/httpclient"
)

// HTTPClientFor returns an HTTP client for the API server that cfg describes, as the sources of
// [NewResource] use it. In contrast to that of [rest.HTTPClientFor] it follows no redirect to
// another server, which would get the credentials. Pass it to the constructors of clientsets, such as
// kubernetes.NewForConfigAndClient. It may be used by any number of goroutines.
func HTTPClientFor(cfg *rest.Config) (*http.Client, error) { return httpclient.For(cfg) }
