package exampleapp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/examples/exampletest"
	"github.com/informerkit/informerkit/informer/inspect"
	"github.com/informerkit/informerkit/reflector"
	"github.com/informerkit/informerkit/workqueue"
	"github.com/informerkit/informerkit/workqueue/history"
)

func TestMain(m *testing.M) { exampletest.Main(m) }

const goodKubeconfig = `apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: k, user: u}}]
clusters: [{name: k, cluster: {server: "https://127.0.0.1:6443"}}]
users: [{name: u, user: {token: t}}]
`

func run(ctx context.Context, about string, args []string, out, errs io.Writer, f func(context.Context, *Env) error) int {
	return App{Name: "demo", About: about, Takes: TakesAll, Run: f}.Main(ctx, args, nil, out, errs)
}

func file(t *testing.T, content string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(name, []byte(content), 0o600))
	return name
}

func TestWrongUseIsOneLineAndStatus2(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	for name, tc := range map[string]struct {
		args []string
		says string
	}{
		"unknown flag":                 {[]string{"-foo"}, "-foo (-h lists the flags)"},
		"argument":                     {[]string{"please"}, `unexpected argument "please"`},
		"two clusters":                 {[]string{"-kubeconfig", "x", "-in-cluster"}, "give one of them"},
		"once on a cluster":            {[]string{"-once", "-kubeconfig", "x"}, "leave out -cluster, -kubeconfig"},
		"no workers":                   {[]string{"-workers", "0"}, "at least 1"},
		"not a number":                 {[]string{"-workers", "many"}, `invalid value "many"`},
		"not in a cluster":             {[]string{"-in-cluster"}, "-in-cluster: this is not a pod"},
		"nowhere to show":              {[]string{"-inspect", "here"}, "-inspect here: listen tcp: address here: missing port"},
		"no such kubeconfig":           {[]string{"-kubeconfig", "/does/not/exist"}, "-kubeconfig /does/not/exist: no such file or directory"},
		"garbage as a kubeconfig":      {[]string{"-kubeconfig", file(t, "<html>no</html>")}, "-kubeconfig "},
		"kubeconfig of nothing":        {[]string{"-kubeconfig", file(t, "")}, "names no cluster"},
		"a directory":                  {[]string{"-kubeconfig", t.TempDir()}, "-kubeconfig "},
		"kubeconfig without a name":    {[]string{"-kubeconfig", ""}, "no file is named; use -cluster"},
		"cluster, and there is none":   {[]string{"-cluster"}, "-cluster: names no cluster"},
		"two ways to the same cluster": {[]string{"-cluster", "-in-cluster"}, "give one of them"},
		"nowhere to say it is healthy": {[]string{"-health", "here"}, "-health here: listen tcp: address here: missing port"},
		"context that is not there": {
			[]string{"-kubeconfig", file(t, strings.Replace(goodKubeconfig, "current-context: c", "current-context: d", 1))}, "specified context: d",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			status := run(context.Background(), "A demo.", tc.args, &out, &errs, func(context.Context, *Env) error {
				t.Error("must not run")
				return nil
			})
			assert.Equal(t, 2, status)
			assert.Contains(t, errs.String(), tc.says)
			assert.True(t, strings.HasPrefix(errs.String(), "demo: "), errs.String())
			assert.Equal(t, 1, strings.Count(errs.String(), "\n"), "one line: %s", errs.String())
			assert.Empty(t, out.String())
		})
	}
}

func TestStatusSaysHowTheExampleEnded(t *testing.T) {
	stopped, stop := context.WithCancel(context.Background())
	stop()
	for name, tc := range map[string]struct {
		ctx    context.Context
		args   []string
		err    error
		status int
	}{
		"converged":                    {context.Background(), []string{"-once"}, nil, 0},
		"failed":                       {context.Background(), []string{"-once"}, errors.New("not\nconverged"), 1},
		"stopped by a signal":          {stopped, nil, context.Canceled, 0},
		"stopped before it converged":  {stopped, []string{"-once"}, context.Canceled, 1},
		"cancelled for another reason": {context.Background(), nil, context.Canceled, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var errs bytes.Buffer
			status := run(tc.ctx, "", tc.args, &bytes.Buffer{}, &errs, func(context.Context, *Env) error { return tc.err })
			assert.Equal(t, tc.status, status)
			assert.Equal(t, tc.status, strings.Count(errs.String(), "\n"), "a failure is reported in one line: %s", errs.String())
		})
	}
}

func TestKubeconfigLeadsToItsCluster(t *testing.T) {
	status := run(context.Background(), "", []string{"-kubeconfig", file(t, goodKubeconfig), "-namespace", "here"},
		&bytes.Buffer{}, &bytes.Buffer{}, func(_ context.Context, env *Env) error {
			assert.False(t, env.Embedded())
			assert.Equal(t, "https://127.0.0.1:6443", env.Config.Host)
			assert.Equal(t, "t", env.Config.BearerToken)
			assert.Equal(t, "here", env.Namespace)
			return nil
		})
	assert.Zero(t, status)
}

func TestKubeconfigVariableIsIgnored(t *testing.T) {
	t.Setenv("KUBECONFIG", file(t, goodKubeconfig))
	run(context.Background(), "", nil, &bytes.Buffer{}, &bytes.Buffer{}, func(_ context.Context, env *Env) error {
		assert.True(t, env.Embedded(), "an example writes only to a cluster it was given")
		return nil
	})
}

func TestClusterFollowsTheKubeconfigVariable(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none")+string(os.PathListSeparator)+file(t, goodKubeconfig))
	status := run(context.Background(), "", []string{"-cluster"}, &bytes.Buffer{}, &bytes.Buffer{}, func(_ context.Context, env *Env) error {
		require.False(t, env.Embedded())
		assert.Equal(t, "https://127.0.0.1:6443", env.Config.Host)
		return nil
	})
	assert.Zero(t, status)
}

func TestReadinessFollowsTheCaches(t *testing.T) {
	get := func(env *Env, path string) (int, string) {
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		answer, err := client.Get("http://" + env.pages.healthAt + path)
		require.NoError(t, err)
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		return answer.StatusCode, string(body)
	}
	status := run(t.Context(), "", []string{"-health", "127.0.0.1:0"}, &bytes.Buffer{}, &bytes.Buffer{}, func(_ context.Context, env *Env) error {
		code, _ := get(env, "/healthz")
		assert.Equal(t, 200, code)
		code, _ = get(env, "/readyz")
		assert.Equal(t, 503, code)
		part := &cache{}
		require.NoError(t, env.Show(part))
		code, why := get(env, "/readyz")
		assert.Equal(t, 503, code)
		assert.Equal(t, "pods: not listed\n", why)
		part.synced = true
		code, _ = get(env, "/readyz")
		assert.Equal(t, 200, code)
		return nil
	})
	assert.Zero(t, status)
}

type cache struct{ synced bool }

func (s *cache) Ready() error {
	if s.synced {
		return nil
	}
	return errors.New("pods: not listed")
}

func TestHelpNamesEveryFlag(t *testing.T) {
	var errs bytes.Buffer
	assert.Zero(t, run(context.Background(), "A demo.", []string{"-h"}, &bytes.Buffer{}, &errs, nil))
	for _, flag := range []string{"A demo.", "-once", "-kubeconfig", "-cluster", "-in-cluster", "-namespace", "-workers", "-inspect", "-health", "-v"} {
		assert.Contains(t, errs.String(), flag)
	}
}

// A flag that an example would ignore is none of its flags.
func TestExampleHasOnlyTheFlagsThatItTakes(t *testing.T) {
	for flag, takes := range map[string]Flags{
		"-namespace=x": TakesNamespace, "-workers=2": TakesWorkers, "-inspect=127.0.0.1:0": TakesInspect, "-health=127.0.0.1:0": TakesHealth,
	} {
		app := App{Name: "demo", Run: func(context.Context, *Env) error { return nil }}
		var errs bytes.Buffer
		assert.Equal(t, 2, app.Main(t.Context(), []string{flag}, nil, &bytes.Buffer{}, &errs))
		assert.Contains(t, errs.String(), "flag provided but not defined")
		app.Takes = takes
		assert.Zero(t, app.Main(t.Context(), []string{flag}, nil, &bytes.Buffer{}, &errs))
	}
}

// An example that ends by itself fails where another one tries again.
func TestOnlyOnceOnAClusterDoesAFirstFailureEndTheExample(t *testing.T) {
	for _, c := range []struct {
		args []string
		ends bool
	}{
		{nil, false}, {[]string{"-once"}, false},
		{[]string{"-kubeconfig", file(t, goodKubeconfig)}, false},
		{[]string{"-kubeconfig", file(t, goodKubeconfig), "-once"}, true},
	} {
		app := App{Name: "demo", OnceOnCluster: true, Run: func(_ context.Context, env *Env) error {
			policy := env.Policy()
			require.Equal(t, c.ends, policy != nil)
			if c.ends {
				assert.Equal(t, reflector.Stop(), policy(reflector.Failure{}))
				assert.Equal(t, reflector.Retry(), policy(reflector.Failure{Synced: true}))
			}
			return nil
		}}
		assert.Zero(t, app.Main(t.Context(), c.args, nil, &bytes.Buffer{}, &bytes.Buffer{}))
	}
}

func TestInspectionIsServedWhileTheExampleRuns(t *testing.T) {
	queue := workqueue.New(workqueue.Options[string]{Name: "shown"})
	for name, args := range map[string][]string{
		"on a cluster": {"-kubeconfig", file(t, goodKubeconfig), "-inspect", "127.0.0.1:0"},
		"embedded":     {"-inspect", "localhost:0"},
	} {
		t.Run(name, func(t *testing.T) {
			var errs bytes.Buffer
			status := run(t.Context(), "", args, &bytes.Buffer{}, &errs, func(_ context.Context, env *Env) error {
				require.NoError(t, env.Inspect(inspect.Queue(queue)))
				assert.Contains(t, exampletest.Page(t, env.InspectURL()), `"name": "shown"`)
				assert.Equal(t, !env.Embedded(), strings.Contains(errs.String(), env.InspectURL()), "the transcript has the address, or else the log")
				assert.ErrorContains(t, env.Inspect(inspect.Source{}), "empty")
				return nil
			})
			assert.Zero(t, status, errs.String())
		})
	}
}

// What an example records, the page tells of a key.
func TestPageTellsTheStoryOfAKey(t *testing.T) {
	status := run(t.Context(), "", []string{"-inspect", "127.0.0.1:0"}, &bytes.Buffer{}, &bytes.Buffer{}, func(_ context.Context, env *Env) error {
		queue := workqueue.New(workqueue.Options[string]{Name: "shown", Observe: history.Queue[string](env.History, "shown")})
		require.NoError(t, env.Inspect(inspect.Queue(queue)))
		queue.Add("default/web")
		answer, err := http.Get(env.InspectURL() + "?key=default/web&format=text")
		require.NoError(t, err)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		assert.Contains(t, string(text), "default/web waits for a worker of queue shown")
		assert.Contains(t, string(text), "Added to queue shown by the program.")
		return nil
	})
	assert.Zero(t, status)
	run(t.Context(), "", []string{"-inspect", "off"}, &bytes.Buffer{}, &bytes.Buffer{}, func(_ context.Context, env *Env) error {
		assert.Nil(t, env.History, "nobody could see it")
		return nil
	})
}

// A reader that does not read holds the end up for a second, no longer.
func TestInspectionEndsWithAReaderAtHand(t *testing.T) {
	var open net.Conn
	status := run(t.Context(), "", []string{"-inspect", "127.0.0.1:0"}, &bytes.Buffer{}, &bytes.Buffer{}, func(_ context.Context, env *Env) error {
		var err error
		open, err = net.Dial("tcp", env.pages.inspectAt)
		require.NoError(t, err)
		_, err = open.Write([]byte("GET /debug/informers HTTP/1.1\r\n"))
		return err
	})
	assert.Zero(t, status)
	// Reset, if the server has not read what was sent.
	if _, err := io.ReadAll(open); !errors.Is(err, syscall.ECONNRESET) {
		assert.NoError(t, err, "the connection is closed")
	}
	assert.NoError(t, open.Close())
}

// Examples that run at the same time have a page each, all on the loopback interface.
func TestPageIsShownByDefault(t *testing.T) {
	show := func(args []string, f func(*Env)) string {
		var out, errs bytes.Buffer
		assert.Zero(t, run(t.Context(), "", args, &out, &errs, func(_ context.Context, env *Env) error {
			f(env)
			return nil
		}), errs.String())
		return errs.String()
	}
	onCluster := []string{"-kubeconfig", file(t, goodKubeconfig)}
	log := show(onCluster, func(one *Env) {
		second := show(onCluster, func(other *Env) {
			assert.NotEqual(t, one.InspectURL(), other.InspectURL())
			for _, env := range []*Env{one, other} {
				host, port, err := net.SplitHostPort(env.pages.inspectAt)
				require.NoError(t, err)
				assert.Equal(t, "127.0.0.1", host)
				assert.True(t, env == one || port != "6060", "another port, as that is taken")
				assert.Contains(t, exampletest.Page(t, env.InspectURL()), `"queues": []`)
			}
		})
		assert.Contains(t, second, "url=http://127.0.0.1:")
	})
	assert.Contains(t, log, "url=http://127.0.0.1:")
	assert.NotContains(t, log, "level=WARN")

	for name, args := range map[string][]string{
		"switched off":         {"-inspect", "off"},
		"too short for a look": {"-once"}, "with both": {"-once", "-inspect", "off"},
	} {
		show(args, func(env *Env) {
			assert.Empty(t, env.InspectURL(), name)
			assert.NoError(t, env.Inspect(inspect.Source{}), name)
		})
	}
	show([]string{"-once", "-inspect", "127.0.0.1:0"}, func(env *Env) { assert.NotEmpty(t, env.InspectURL(), "it was asked for") })
}

// The page has no authentication, so other machines cannot reach it.
func TestPageIsForThisMachineOnly(t *testing.T) {
	for _, at := range []string{"0.0.0.0:0", "[::]:0", ":0", "10.1.2.3:80", "debug.example.com:80"} {
		var errs bytes.Buffer
		assert.Equal(t, 2, run(t.Context(), "", []string{"-inspect", at}, &bytes.Buffer{}, &errs, nil))
		assert.Contains(t, errs.String(), "give a loopback address, such as 127.0.0.1:6060")
	}
}
