package build

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
		return nil, fmt.Errorf("%s %s: %w", request.Method, target.Path, statusError(answer.Body))
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

// watchEvent is a line of a watch: ADDED, MODIFIED or DELETED, and the object; BOOKMARK,
// and an object that has nothing but a version; or ERROR, and a Status.
type watchEvent struct {
	Type   string          `json:"type"`
	Object json.RawMessage `json:"object"`
}

// watch calls each for the changes after a version, until the connection ends. It is
// one answer whose body goes on: whenever something changes, the server writes a line.
func (c *Client) watch(ctx context.Context, version string, each func(watchEvent) error) error {
	body, err := c.get(ctx, url.Values{"watch": {"true"}, "resourceVersion": {version}, "allowWatchBookmarks": {"true"}})
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

// statusError returns the failure that the server describes in an object of kind Status.
func statusError(body io.Reader) error {
	status := metav1.Status{}
	if err := json.NewDecoder(body).Decode(&status); err != nil || status.Status != metav1.StatusFailure {
		return errors.New("the answer is not that of an API server; check the address")
	}
	return &apierrors.StatusError{ErrStatus: status}
}

// expired reports whether the server has forgotten the version: status 410.
func expired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }
