package build

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
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

// get makes a request and returns the body of the answer, to be closed.
func (c *Client) get(ctx context.Context, query url.Values) (io.ReadCloser, error) {
	target := *c.url
	target.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, err
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		defer answer.Body.Close()
		return nil, fmt.Errorf("%s %s: %s", request.Method, target.Path, answer.Status)
	}
	return answer.Body, nil
}

// list returns all objects, and the version at which they were so.
func (c *Client) list(ctx context.Context) (*corev1.ConfigMapList, error) {
	body, err := c.get(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	list := &corev1.ConfigMapList{}
	return list, json.NewDecoder(body).Decode(list)
}

// watchEvent is a line of a watch: ADDED, MODIFIED or DELETED, and the object.
type watchEvent struct {
	Type   string `json:"type"`
	Object Object `json:"object"`
}

// watch calls each for the changes after a version, until the connection ends. It is
// one answer whose body goes on: whenever something changes, the server writes a line.
func (c *Client) watch(ctx context.Context, version string, each func(watchEvent) error) error {
	body, err := c.get(ctx, url.Values{"watch": {"true"}, "resourceVersion": {version}})
	if err != nil {
		return err
	}
	defer body.Close()
	for lines := json.NewDecoder(body); ; {
		var event watchEvent
		if err := lines.Decode(&event); err != nil {
			return err // io.EOF: the server has ended it
		}
		if err := each(event); err != nil {
			return err
		}
	}
}
