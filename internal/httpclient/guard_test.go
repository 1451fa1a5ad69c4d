package httpclient

import (
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// roundTripper is a function that implements [http.RoundTripper].
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// slow is a body whose methods wait for release.
type slow struct {
	release                 chan struct{}
	blocksRead, blocksClose bool
	closed                  atomic.Int32
}

func (s *slow) Read(p []byte) (int, error) {
	if s.blocksRead {
		<-s.release
	}
	return copy(p, "x"), io.EOF
}

func (s *slow) Close() error {
	if s.blocksClose {
		<-s.release
	}
	s.closed.Add(1)
	return nil
}

// server answers each request, counts it, and reads its body.
type server struct {
	got  atomic.Int32
	body func() io.ReadCloser
}

func (s *server) RoundTrip(req *http.Request) (*http.Response, error) {
	s.got.Add(1)
	if req.Body != nil {
		_, _ = io.ReadAll(req.Body)
	}
	resp := &http.Response{StatusCode: http.StatusOK, Request: req, Body: http.NoBody}
	if s.body != nil {
		resp.Body = s.body()
	}
	return resp, nil
}

// request sends a request that lasts for a second.
func request(t *testing.T, client *http.Client, method string) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, method, "http://server/", strings.NewReader("body"))
	require.NoError(t, err)
	return Do(client, req)
}

// A transport blocks above the gate, with the context of the request or another one.
func TestARequestReturnsWithItsContextAndIsNeverSent(t *testing.T) {
	t.Parallel()
	replace := map[string]func(*http.Request) *http.Request{
		"same":      func(r *http.Request) *http.Request { return r },
		"values":    func(r *http.Request) *http.Request { return r.WithContext(context.WithoutCancel(r.Context())) },
		"no values": func(r *http.Request) *http.Request { return r.Clone(context.Background()) }, //nolint:contextcheck // the point
		"shorter": func(r *http.Request) *http.Request {
			ctx, cancel := context.WithTimeout(r.Context(), time.Hour)
			context.AfterFunc(ctx, cancel)
			return r.WithContext(ctx)
		},
	}
	for name, change := range replace {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				release, server := make(chan struct{}), &server{}
				client, err := For(&rest.Config{Host: "http://server", Transport: server, WrapTransport: func(next http.RoundTripper) http.RoundTripper {
					return roundTripper(func(req *http.Request) (*http.Response, error) {
						<-release
						return next.RoundTrip(change(req))
					})
				}})
				require.NoError(t, err)
				begun := time.Now()
				_, err = request(t, client, http.MethodPut)
				assert.Equal(t, time.Second+grace, time.Since(begun))
				require.ErrorIs(t, err, context.DeadlineExceeded)
				assert.ErrorContains(t, err, "the transport httpclient.roundTripper of WrapTransport hangs")
				close(release)
				synctest.Wait()
				assert.Zero(t, server.got.Load(), "the abandoned request was sent")
				resp, err := request(t, client, http.MethodPut)
				require.NoError(t, err, "the transport works again")
				assert.NoError(t, resp.Body.Close())
				assert.EqualValues(t, 1, server.got.Load())
			})
		})
	}
}

// What follows the gate is named, and a response that comes too late is closed.
func TestALateResponseIsClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release, body := make(chan struct{}), &slow{}
		client, err := For(&rest.Config{Host: "http://server", Transport: roundTripper(func(req *http.Request) (*http.Response, error) {
			<-release
			return &http.Response{StatusCode: http.StatusOK, Body: body}, nil
		})})
		require.NoError(t, err)
		_, err = request(t, client, http.MethodGet)
		require.ErrorContains(t, err, "the transport httpclient.roundTripper hangs")
		close(release)
		synctest.Wait()
		assert.EqualValues(t, 1, body.closed.Load())
	})
}

// The bound holds for requests that start together, and one after the other.
func TestStuckRequestsAreBounded(t *testing.T) {
	t.Parallel()
	for _, limit := range []int32{perReflector, perClient} {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			var inside, most atomic.Int32
			client, err := limited(&rest.Config{Host: "http://server", Transport: &server{}, WrapTransport: func(next http.RoundTripper) http.RoundTripper {
				return roundTripper(func(req *http.Request) (*http.Response, error) {
					most.Store(max(most.Load(), inside.Add(1)))
					defer inside.Add(-1)
					<-release
					return next.RoundTrip(req)
				})
			}}, limit)
			require.NoError(t, err)
			failures := make(chan error)
			for range 40 {
				go func() { _, err := request(t, client, http.MethodGet); failures <- err }()
			}
			for range 40 {
				require.Error(t, <-failures)
			}
			begun := time.Now()
			_, err = request(t, client, http.MethodGet)
			require.ErrorContains(t, err, "not sent, because earlier requests")
			require.ErrorContains(t, err, "of WrapTransport hangs")
			assert.Zero(t, time.Since(begun), "an immediate error")
			assert.Equal(t, limit, most.Load())
			close(release)
			synctest.Wait()
			assert.Zero(t, inside.Load())
			resp, err := request(t, client, http.MethodGet)
			require.NoError(t, err)
			assert.NoError(t, resp.Body.Close())
		})
	}
}

// Requests that a wrapper answers without the transport below are not limited.
func TestAWrapperThatAnswersIsNotABottleneck(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		close(release)
		var inside atomic.Int32
		client, err := For(&rest.Config{Host: "http://server", WrapTransport: func(http.RoundTripper) http.RoundTripper {
			return roundTripper(func(req *http.Request) (*http.Response, error) {
				inside.Add(1)
				<-release
				return (&server{}).RoundTrip(req)
			})
		}})
		require.NoError(t, err)
		_, err = request(t, client, http.MethodGet)
		require.NoError(t, err)
		release = make(chan struct{})
		for range 3 * perClient {
			go request(t, client, http.MethodGet) //nolint:errcheck // it is in the transport
		}
		synctest.Wait()
		assert.EqualValues(t, 1+3*perClient, inside.Load())
		close(release)
		synctest.Wait()
	})
}

// Read and Close return with the context, and the guard counts what they leave behind.
func TestABodyReturnsWithItsContext(t *testing.T) {
	t.Parallel()
	for _, blocks := range []struct{ read, close bool }{{true, false}, {false, true}, {true, true}} {
		synctest.Test(t, func(t *testing.T) {
			body := &slow{release: make(chan struct{}), blocksRead: blocks.read, blocksClose: blocks.close}
			client, err := ForReflector(&rest.Config{Host: "http://server", Transport: &server{body: func() io.ReadCloser { return body }}})
			require.NoError(t, err)
			begun := time.Now()
			resp, err := request(t, client, http.MethodGet)
			require.NoError(t, err)
			_, err = resp.Body.Read(make([]byte, 1))
			if blocks.read {
				require.ErrorContains(t, err, "the body *httpclient.slow of a response hangs")
				assert.Equal(t, time.Second+grace, time.Since(begun))
			} else {
				require.ErrorIs(t, err, io.EOF)
			}
			require.Error(t, resp.Body.Close())
			assert.LessOrEqual(t, time.Since(begun), time.Second+2*grace)
			_, err = request(t, client, http.MethodGet)
			require.ErrorContains(t, err, "not sent, because")
			close(body.release)
			synctest.Wait()
			assert.EqualValues(t, 1, body.closed.Load())
			resp, err = request(t, client, http.MethodGet)
			require.NoError(t, err)
			_, err = io.ReadAll(resp.Body)
			require.NoError(t, err)
			assert.NoError(t, resp.Body.Close())
		})
	}
}

// Close unblocks a Read, and a body that nobody closes ends with its context.
func TestABodyEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reader, _ := io.Pipe()
		client, err := For(&rest.Config{Host: "http://server", Transport: &server{body: func() io.ReadCloser { return reader }}})
		require.NoError(t, err)
		resp, err := request(t, client, http.MethodGet)
		require.NoError(t, err)
		got := make(chan error)
		go func() { _, err := resp.Body.Read(make([]byte, 1)); got <- err }()
		synctest.Wait()
		begun := time.Now()
		require.NoError(t, resp.Body.Close())
		require.ErrorIs(t, <-got, io.ErrClosedPipe)
		assert.Zero(t, time.Since(begun))
		_, err = resp.Body.Read(make([]byte, 1))
		require.Error(t, err)

		var writer *io.PipeWriter
		reader, writer = io.Pipe()
		resp, err = request(t, client, http.MethodGet)
		require.NoError(t, err)
		time.Sleep(2 * time.Second)
		_, err = writer.Write([]byte("x"))
		require.ErrorIs(t, err, io.ErrClosedPipe, "closed with the context")
		_, err = resp.Body.Read(make([]byte, 1))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.NoError(t, resp.Body.Close())
	})
}

// A panic of a transport reaches the caller, and an exit of its goroutine is an error.
func TestATransportThatFailsBadly(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(){"panic": func() { panic("oh no") }, "exit": runtime.Goexit, "abort": func() { panic(http.ErrAbortHandler) }} {
		for _, inBody := range []bool{false, true} {
			client, err := For(&rest.Config{Host: "http://server", Transport: roundTripper(func(req *http.Request) (*http.Response, error) {
				if !inBody {
					fail()
				}
				return &http.Response{StatusCode: http.StatusOK, Body: failing(fail)}, nil
			})})
			require.NoError(t, err)
			call := func() error {
				resp, err := request(t, client, http.MethodGet)
				if err == nil {
					defer resp.Body.Close()
					_, err = resp.Body.Read(make([]byte, 1))
				}
				return err
			}
			switch name {
			case "exit":
				require.ErrorIs(t, call(), errExited)
			case "abort":
				require.PanicsWithError(t, http.ErrAbortHandler.Error(), func() { _ = call() })
			default:
				func() {
					defer func() { assert.Contains(t, recover(), "oh no\n\nin a transport:\n", name) }()
					_ = call()
				}()
			}
		}
	}
}

type failing func()

func (f failing) Read([]byte) (int, error) { f(); return 0, io.EOF }
func (f failing) Close() error             { panic("closing") }

// The error names what the configuration consists of.
func TestStuckErrorsNameThePlugin(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		cfg  rest.Config
		want [3]string
	}{
		{rest.Config{}, [3]string{"a wrapped transport", "a wrapped transport", "the connection"}},
		{rest.Config{ExecProvider: &clientcmdapi.ExecConfig{Command: "aws"}}, [3]string{`the credential plugin "aws"`, "a wrapped transport", "the connection"}},
		{rest.Config{AuthProvider: &clientcmdapi.AuthProviderConfig{Name: "oidc"}}, [3]string{`the auth provider "oidc"`, "a wrapped transport", "the connection"}},
		{rest.Config{BearerTokenFile: "/token"}, [3]string{`reading the token file "/token"`, "a wrapped transport", "the connection"}},
		{rest.Config{Transport: &server{}}, [3]string{"a wrapped transport", "a wrapped transport", "the transport *httpclient.server"}},
	} {
		assert.Equal(t, test.want, namesFor(&test.cfg))
	}
	var timeout interface{ Timeout() bool }
	require.True(t, errors.As(error(&StuckError{}), &timeout))
	assert.True(t, timeout.Timeout())
}
