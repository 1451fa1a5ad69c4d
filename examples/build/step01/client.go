package build

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
)

// Client makes requests to the API server, about the ConfigMaps of one namespace.
type Client struct {
	http *http.Client
	url  *url.URL
}

// NewClient returns a client. cfg has the address of the server, and the credentials.
func NewClient(cfg *rest.Config, namespace string) (*Client, error) {
	base, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return nil, err
	}
	transport, err := rest.TransportFor(cfg)
	if err != nil {
		return nil, err
	}
	// A redirect to another server would get the credentials.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	target := base.JoinPath("/api/v1/namespaces", namespace, "configmaps")
	return &Client{http: &http.Client{Transport: transport, CheckRedirect: stay}, url: target}, nil
}

// list returns all objects, and the version at which they were so.
func (c *Client) list(ctx context.Context) (*corev1.ConfigMapList, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url.String(), nil)
	if err != nil {
		return nil, err
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s %s: %s", request.Method, c.url.Path, answer.Status)
	}
	list := &corev1.ConfigMapList{}
	return list, json.NewDecoder(answer.Body).Decode(list)
}
