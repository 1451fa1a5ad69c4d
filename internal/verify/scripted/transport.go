package scripted

import (
	"io"
	"net/http"

	"k8s.io/client-go/rest"
)

// Response returns the configuration of a client that receives body as the answer
// to whatever it asks. There is no connection in between, so the test decides what
// each Read returns, and sees when the client closes the body.
func Response(contentType string, body io.ReadCloser) *rest.Config {
	return &rest.Config{Host: "http://apiserver.test", Transport: response{contentType, body}}
}

// response implements http.RoundTripper.
type response struct {
	contentType string
	body        io.ReadCloser
}

// RoundTrip implements http.RoundTripper.
func (r response) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {r.contentType}}, Body: r.body, Request: req,
	}, nil
}
