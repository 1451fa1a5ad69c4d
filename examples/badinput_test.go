//go:build !race

package examples

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/examples/exampletest"
	"github.com/informerkit/informerkit/informer/informertest"
)

// offline needs no API server, so a bad one does it no harm.
const offline = "indexer"

var (
	// single do their work and end; with -once they do so on a cluster, too.
	single = []string{"config", "crud", "dynamic", "metadata"}
	// follow read until they are stopped, and with -once read everything once.
	follow = []string{"deltafifo", "informer", "reflector"}
	// controllers work until they are stopped.
	controllers = []string{"foo", "leaderelection", "namespaces", "replicaset", "sharding", "workqueue"}
)

func TestEveryExampleIsTriedWithBadInput(t *testing.T) {
	assert.ElementsMatch(t, names(t), slices.Concat(single, follow, controllers, []string{offline}))
}

// badServers are API servers on which nothing works, and a part of what examples
// must say about them.
func badServers(t *testing.T) map[string]struct{ url, says string } {
	t.Helper()
	html := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, "<html>Welcome</html>")
	}))
	t.Cleanup(html.Close)
	forbidden := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"it is forbidden to you"}`)
	}))
	t.Cleanup(forbidden.Close)
	unknownCA := httptest.NewUnstartedServer(http.NotFoundHandler())
	unknownCA.Config.ErrorLog = log.New(io.Discard, "", 0) // it would log each handshake that fails
	unknownCA.StartTLS()
	t.Cleanup(unknownCA.Close)
	return map[string]struct{ url, says string }{
		"unreachable": {"http://127.0.0.1:1", "connection refused"},
		"html":        {html.URL, "address"},
		"forbidden":   {forbidden.URL, "it is forbidden to you"},
		"wrong CA":    {unknownCA.URL, "signed by unknown authority"},
	}
}

// One that ends by itself ends with status 1 and one line that says why.
func TestExampleThatEndsReportsABadServerInOneLine(t *testing.T) {
	for kind, server := range badServers(t) {
		kubeconfig := exampletest.Kubeconfig(t, server.url)
		for _, name := range slices.Concat(single, follow) {
			t.Run(name+"/"+kind, func(t *testing.T) {
				status, stderr := runToEnd(t, name, "-once", "-kubeconfig", kubeconfig)
				assert.Equal(t, 1, status)
				assertOneLine(t, name, stderr, server.says)
			})
		}
	}
}

// One that works until it is stopped goes on trying, says why nothing happens, and
// stops when it is asked to.
func TestExampleThatGoesOnReportsABadServerAndTriesAgain(t *testing.T) {
	for kind, server := range badServers(t) {
		kubeconfig := exampletest.Kubeconfig(t, server.url)
		for _, name := range slices.Concat(follow, controllers) {
			t.Run(name+"/"+kind, func(t *testing.T) {
				untilSaid(t, name, server.says, "-kubeconfig", kubeconfig)
			})
		}
	}
}

func TestControllerOfAKindThatIsNotInstalledSaysSoAndTriesAgain(t *testing.T) {
	kubeconfig := exampletest.Kubeconfig(t, informertest.Start(t, informertest.Options{}).URL())
	for _, name := range []string{"foo", "replicaset", "sharding", "namespaces"} {
		t.Run(name, func(t *testing.T) {
			untilSaid(t, name, "is the CustomResourceDefinition installed", "-kubeconfig", kubeconfig)
		})
	}
}

func TestIndexerNeedsNoServer(t *testing.T) {
	status, stderr := runToEnd(t, offline, "-kubeconfig", exampletest.Kubeconfig(t, "http://127.0.0.1:1"))
	assert.Zero(t, status, stderr)
	assert.Empty(t, stderr)
}

// A server that accepts a request and never answers does not keep an example from
// ending when it is asked to.
func TestExampleThatWaitsForASilentServerCanBeStopped(t *testing.T) {
	for _, name := range slices.Concat(single, follow, controllers) {
		t.Run(name, func(t *testing.T) {
			asked, stop := make(chan struct{}), make(chan struct{})
			first := sync.OnceFunc(func() { close(asked) })
			server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				first()
				select {
				case <-r.Context().Done():
				case <-stop:
				}
			}))
			defer server.Close()
			defer close(stop)
			p := start(t, name, "-kubeconfig", exampletest.Kubeconfig(t, server.URL))
			p.wait(asked)
			p.interrupt()
			assert.Zero(t, p.end(), p.stderr.String())
			assert.NotContains(t, p.stderr.String(), "panic")
		})
	}
}

func TestWrongFlagIsReportedInOneLine(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	port := taken.Addr().String()
	for _, c := range []struct {
		examples []string
		args     []string
		says     string
	}{
		{names(t), []string{"-kubeconfig", ""}, "no file is named; use -cluster"},
		{names(t), []string{"-kubeconfig", "missing"}, "no such file or directory"},
		{names(t), []string{"-cluster"}, "names no cluster"},
		{controllers, []string{"-once", "-cluster"}, "leave out -cluster"},
		{controllers, []string{"-inspect", port}, "address already in use"},
		{controllers, []string{"-health", port}, "address already in use"},
	} {
		for _, name := range c.examples {
			t.Run(name+" "+strings.Join(c.args, " "), func(t *testing.T) {
				status, stderr := runToEnd(t, name, c.args...)
				assert.Equal(t, 2, status)
				assertOneLine(t, name, stderr, c.says)
			})
		}
	}
}

// The first Ctrl-C asks an example to end, and it cleans up; the second one ends it.
func TestSecondInterruptEndsAnExampleThatIsCleaningUp(t *testing.T) {
	target, err := url.Parse(informertest.Start(t, informertest.Options{}).URL())
	require.NoError(t, err)
	deleting, stop := make(chan string, 2), make(chan struct{}) // the paths
	forward := httputil.NewSingleHostReverseProxy(target)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodDelete {
			forward.ServeHTTP(w, r)
			return
		}
		deleting <- r.URL.Path
		<-stop
	}))
	defer server.Close()
	defer close(stop)

	p := start(t, "crud", "-kubeconfig", exampletest.Kubeconfig(t, server.URL))
	wait := func(path string) {
		reached := make(chan struct{})
		go func() {
			assert.Equal(t, path, <-deleting)
			close(reached)
		}()
		p.wait(reached)
	}
	wait("/apis/apps/v1/namespaces/informerkit-crud/deployments/demo") // its last step
	p.interrupt()
	wait("/api/v1/namespaces/informerkit-crud")
	p.interrupt()
	p.end()
	assert.Equal(t, 130, p.cmd.ProcessState.ExitCode(), "128 and the number of SIGINT: %v", p.cmd.ProcessState)
}

func assertOneLine(t *testing.T, name, stderr, says string) {
	t.Helper()
	assert.Equal(t, 1, strings.Count(stderr, "\n"), "one line: %s", stderr)
	assert.True(t, strings.HasPrefix(stderr, name+": "), stderr)
	assert.Contains(t, stderr, says)
	assert.Equal(t, 1, strings.Count(stderr, says), "said once: %s", stderr)
}

func runToEnd(t *testing.T, name string, args ...string) (status int, stderr string) {
	t.Helper()
	p := start(t, name, args...)
	status = p.end()
	return status, p.stderr.String()
}

// untilSaid runs an example until its log has the text, and stops it.
func untilSaid(t *testing.T, name, says string, args ...string) {
	t.Helper()
	p := start(t, name, args...)
	p.wait(p.said(says))
	select {
	case <-p.ended:
		t.Fatalf("it has ended: %s", p.stderr.String())
	default:
	}
	p.interrupt()
	assert.Zero(t, p.end(), p.stderr.String())
	assert.NotContains(t, p.stderr.String(), "panic")
}

// limit is for a machine that is very slow; each step takes milliseconds.
const limit = time.Minute

// program is a running example.
type program struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout output
	stderr output
	ended  chan struct{}
}

// start starts an example. Nothing of the environment leads it to a cluster.
func start(t *testing.T, name string, args ...string) *program {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	p := &program{t: t, cmd: exec.CommandContext(ctx, binary(t, name), args...), ended: make(chan struct{})}
	home := t.TempDir()
	p.cmd.Env = append(os.Environ(), "KUBECONFIG="+home+"/none", "HOME="+home, "KUBERNETES_SERVICE_HOST=")
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.WaitDelay = &p.stdout, &p.stderr, time.Second
	require.NoError(t, p.cmd.Start())
	go func() {
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		cancel()
		<-p.ended
	})
	return p
}

func (p *program) interrupt() {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(os.Interrupt))
}

// said returns a channel that is closed when one of the outputs has the text.
func (p *program) said(text string) <-chan struct{} {
	said := make(chan struct{})
	seen := sync.OnceFunc(func() { close(said) })
	p.stdout.await(text, seen)
	p.stderr.await(text, seen)
	return said
}

func (p *program) wait(happened <-chan struct{}) {
	p.t.Helper()
	select {
	case <-happened:
	case <-p.ended:
		p.t.Fatalf("it has ended: %s%s", p.stdout.String(), p.stderr.String())
	case <-time.After(limit):
		p.t.Fatalf("waited for %v: %s%s", limit, p.stdout.String(), p.stderr.String())
	}
}

func (p *program) end() (status int) {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(limit):
		p.t.Fatalf("it has not ended within %v: %s%s", limit, p.stdout.String(), p.stderr.String())
	}
	return p.cmd.ProcessState.ExitCode()
}

// output is what a program has written. It is safe for concurrent use.
type output struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	text string
	seen func()
}

// await calls seen when the output has the text.
func (o *output) await(text string, seen func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text, o.seen = text, seen
	o.look()
}

func (o *output) look() {
	if o.seen != nil && strings.Contains(o.buf.String(), o.text) {
		o.seen()
	}
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer o.look()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}
