package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion/queryparams"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/informerkit/informerkit/internal/httpclient"
)

// call is what is asked of the server.
type call struct {
	verb        string
	list        bool
	key         types.NamespacedName
	query       url.Values
	contentType string
	body        []byte
	// read, if set, reads the body of a success. Without it the body is that of one object.
	read func(contentType string, body io.Reader) error
	text *[]byte // if set, gets a copy of a response in JSON
}

// answer is what the server has said.
type answer struct {
	contentType string
	body        []byte
	buffer      *bytes.Buffer // of the body
	created     bool          // an object that was not there before
}

const (
	mimeJSON     = "application/json"
	mimeProtobuf = "application/vnd.kubernetes.protobuf"

	// attempts is how often a request is sent that the server, with Retry-After, asks to
	// send again; client-go has the same number.
	attempts = 11
)

// do sends a request, again if the server asks for it, and returns the body of a success. Servers name the object
// if a custom resource has no such subresource, so a 404 of a subresource is checked by reading the object.
func (c *Client[T]) do(ctx context.Context, request call) (answer, error) {
	got, err := c.send(ctx, request)
	if c.opts.Subresource == "" || err == nil || IgnoreNotFound(err) != nil {
		return got, err
	}
	whole := *c
	whole.opts.Subresource = ""
	found, failed := whole.send(ctx, call{verb: http.MethodGet, key: request.key})
	found.release()
	switch {
	case failed == nil:
		err = &elsewhere{err, fmt.Sprintf("the object exists; does the definition of %s have the subresource %q?", c.resource.GroupResource(), c.opts.Subresource)}
	case IgnoreNotFound(failed) != nil:
		err = &elsewhere{err, fmt.Sprintf("whether the object exists cannot be read: %v", failed)}
	}
	return got, err
}

// send is do without that check.
func (c *Client[T]) send(ctx context.Context, call call) (answer, error) {
	switch sub := c.opts.Subresource; {
	case call.list && sub != "": // without this check, an object called like the subresource would be deleted
		return answer{}, fmt.Errorf("client: %s/%s is not a collection; use a client without the Subresource", c.resource.Resource, sub)
	case !call.list && call.key.Name == "" && (call.verb != http.MethodPost || sub != ""):
		return answer{}, fmt.Errorf("client: the name of the object is empty (%s %s)", call.verb, c.resource.Resource)
	}
	target, err := c.url(call)
	if err != nil {
		return answer{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.opts.Timeout)
	defer cancel()
	for attempt := 1; ; attempt++ {
		if c.limiter != nil {
			if err := c.limiter.Wait(ctx); err != nil {
				return answer{}, fmt.Errorf("client: waiting for the rate limit: %w", err)
			}
		}
		got, again, err := c.once(ctx, call, target)
		if err == nil || again < 0 || attempt == attempts {
			return got, err
		}
		select {
		case <-time.After(again):
		case <-ctx.Done():
			return answer{}, fmt.Errorf("%w (%w before it was sent again)", err, context.Cause(ctx))
		}
	}
}

// once sends a request. With an error, again is after what time to send it once more; below 0: not.
func (c *Client[T]) once(ctx context.Context, call call, target url.URL) (got answer, again time.Duration, err error) {
	var body io.Reader
	if call.body != nil {
		body = bytes.NewReader(call.body) // a type that net/http can rewind
	}
	req, err := http.NewRequestWithContext(ctx, call.verb, "", body)
	if err != nil {
		return got, -1, fmt.Errorf("client: %w", err)
	}
	req.URL, req.Host = &target, target.Host
	req.Header["Accept"] = []string{c.accept(call.list)}
	req.Header["User-Agent"] = []string{c.agent} // client-go's transport would copy the request for it
	if call.contentType != "" {
		req.Header["Content-Type"] = []string{call.contentType}
	}
	resp, err := httpclient.Do(c.http, req)
	if err != nil {
		// A read may be sent again if the connection broke: one that was idle may have been
		// closed by the server. A write may have taken effect.
		err = httpclient.CutError(err)
		if call.verb == http.MethodGet && (utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err)) {
			return got, time.Second, err
		}
		return got, -1, err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read, or cannot be
	c.warnings(ctx, resp.Header)
	got.contentType = resp.Header.Get("Content-Type")
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		err = c.failure(resp, call)
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, httpclient.MaxError)) // so that the connection can be used again
		return got, retryAfter(resp), err
	}
	if call.read != nil {
		return got, -1, call.read(got.contentType, resp.Body)
	}
	got.buffer = buffers.Get().(*bytes.Buffer) //nolint:forcetypeassert // by New
	n, err := got.buffer.ReadFrom(io.LimitReader(resp.Body, httpclient.MaxObject+1))
	if err != nil {
		got.buffer = nil // a read that was abandoned may still write to it
		return got, -1, fmt.Errorf("client: reading the answer: %w", err)
	}
	if n > httpclient.MaxObject {
		return got, -1, fmt.Errorf("client: the response for %s %s has more than %d bytes; no API server stores such an object", c.resource.Resource, call.key, httpclient.MaxObject)
	}
	got.body, got.created = got.buffer.Bytes(), resp.StatusCode == http.StatusCreated && c.opts.Subresource == ""
	return got, -1, nil
}

// buffers are what answers are read into: decoders copy what they keep. Most objects fit twice: see decodeInto.
var buffers = sync.Pool{New: func() any { return bytes.NewBuffer(make([]byte, 0, 16<<10)) }}

// release makes the buffer of an answer that of another. A huge one is left to the garbage collector.
func (a answer) release() {
	if a.buffer != nil && a.buffer.Cap() <= httpclient.MaxError {
		a.buffer.Reset()
		buffers.Put(a.buffer)
	}
}

// retryAfter returns after what time the server wants the request again, or -1. It is
// asked of 429 and 5xx only, as in client-go.
func retryAfter(resp *http.Response) time.Duration {
	seconds := httpclient.RetryAfter(resp)
	if seconds == 0 || resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode < 500 {
		return -1
	}
	return time.Duration(seconds) * time.Second
}

// failure returns the error of an answer that is none of success, with texts of a bounded length.
func (c *Client[T]) failure(resp *http.Response, call call) error {
	if to := resp.Header.Get("Location"); resp.StatusCode < 400 {
		return fmt.Errorf("client: the server answers %s, to %q: a redirect to another server is not followed, as it would get the credentials", httpclient.Cut(resp.Status), httpclient.Cut(to))
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, httpclient.MaxError))
	status := &metav1.Status{}
	got := answer{contentType: resp.Header.Get("Content-Type"), body: text}
	if err := decodeInto(got, status, "Status"); err == nil && status.Kind == "Status" && status.Status != metav1.StatusSuccess {
		return c.aboutObject(&apierrors.StatusError{ErrStatus: httpclient.CutStatus(*status)}, call)
	}
	return c.aboutObject(apierrors.NewGenericServerResponse(resp.StatusCode, call.verb, c.resource.GroupResource(), call.key.Name, httpclient.Cut(string(text)), max(0, int(retryAfter(resp).Seconds())), true), call)
}

// listQuery turns the options of a list into a query.
func listQuery(opts *metav1.ListOptions) (url.Values, error) {
	if opts.Watch {
		return nil, errors.New("Watch is set; a reflector watches") //nolint:staticcheck // the name of the field
	}
	return queryparams.Convert(opts)
}

// limiterOf returns the rate limiter of a configuration, with the defaults of client-go. A
// negative QPS means none.
func limiterOf(cfg *rest.Config) flowcontrol.RateLimiter {
	qps, burst := cfg.QPS, cfg.Burst
	switch {
	case cfg.RateLimiter != nil:
		return cfg.RateLimiter
	case qps < 0:
		return nil
	case qps == 0:
		qps = rest.DefaultQPS
	}
	if burst == 0 {
		burst = rest.DefaultBurst
	}
	return flowcontrol.NewTokenBucketRateLimiter(qps, burst)
}

// warningsOf returns what passes on the warnings of the server, such as that of an API
// version that will be removed: to the handlers of the configuration, or as client-go does by
// default, to the log.
func warningsOf(cfg *rest.Config) func(context.Context, http.Header) {
	handle := func(_ context.Context, code int, agent, text string) {
		rest.WarningLogger{}.HandleWarningHeader(code, agent, text)
	}
	if h := cfg.WarningHandler; h != nil {
		handle = func(_ context.Context, code int, agent, text string) { h.HandleWarningHeader(code, agent, text) }
	}
	if h := cfg.WarningHandlerWithContext; h != nil {
		handle = h.HandleWarningHeaderWithContext
	}
	return func(ctx context.Context, header http.Header) {
		if len(header["Warning"]) == 0 {
			return
		}
		warnings, _ := utilnet.ParseWarningHeaders(header["Warning"])
		for _, w := range warnings {
			handle(ctx, w.Code, httpclient.Cut(w.Agent), httpclient.Cut(w.Text))
		}
	}
}
