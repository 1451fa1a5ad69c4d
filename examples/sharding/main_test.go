package main

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/examples/demo"
	"github.com/informerkit/informerkit/examples/exampletest"
	"github.com/informerkit/informerkit/examples/foo/api"
	"github.com/informerkit/informerkit/informer/client"
	"github.com/informerkit/informerkit/informer/informertest"
)

func TestMain(m *testing.M) { exampletest.Main(m) }

// What is wrong with the flags of a replica is said in one line, which names what to use.
func TestWrongFlagIsReportedInOneLine(t *testing.T) {
	t.Parallel()
	kubeconfig := exampletest.Kubeconfig(t, "http://127.0.0.1:1")
	for _, c := range []struct {
		args   []string
		says   string
		status int
	}{
		{[]string{"-replicas", "0"}, "flag provided but not defined: -replicas (-h lists the flags)", 2},
		{[]string{"-kubeconfig", kubeconfig, "-workers", "0"}, "-workers 0: at least 1 is needed", 2},
		{[]string{"-lease-duration", "soon"}, `invalid value "soon" for flag -lease-duration`, 2},
		{[]string{"-kubeconfig", kubeconfig, "-inspect", "off", "-lease-duration", "10ms"}, "LeaseDuration is 10ms; use 1s to 1h0m0s", 1},
		{[]string{"-kubeconfig", kubeconfig, "-inspect", "off", "-lease-namespace", ""}, `Options.Namespace is ""`, 1},
		{[]string{"-kubeconfig", kubeconfig, "-inspect", "off", "-identity", "Pod 1"}, `Options.Identity is "Pod 1", which cannot be part of the name of a Lease`, 1},
	} {
		var out, errs bytes.Buffer
		assert.Equal(t, c.status, app().Main(t.Context(), c.args, strings.NewReader(""), &out, &errs), c.args)
		assert.Contains(t, errs.String(), c.says)
		assert.Equal(t, 1, strings.Count(errs.String(), "\n"), errs.String())
		assert.Empty(t, out.String())
	}
}

// A replica says what it has, and its page shows it, until it is asked to end.
func TestReplicaIsShownAndEndsWithItsStandardInput(t *testing.T) {
	t.Parallel()
	server := informertest.Start(t, informertest.Options{})
	require.NoError(t, demo.Install(t.Context(), server.Config(), crd))
	foos, err := client.New[*api.Foo](server.Config(), api.Resource, client.Options{})
	require.NoError(t, err)
	_, err = foos.Create(t.Context(), &api.Foo{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "one"}, Spec: api.FooSpec{DeploymentName: "one"}})
	require.NoError(t, err)

	stdin, end, err := os.Pipe()
	require.NoError(t, err)
	defer func() { _ = stdin.Close() }()
	has := make(chan struct{})
	out := &exampletest.Watcher{Word: "has 24 of 24 parts, with 1 foos", Seen: sync.OnceFunc(func() { close(has) })}
	var errs exampletest.Watcher
	ended := make(chan int, 1)
	go func() {
		ended <- app().Main(t.Context(), []string{
			"-kubeconfig", exampletest.Kubeconfig(t, server.URL()), "-identity", "me", "-until-eof", "-inspect", "127.0.0.1:0",
		}, stdin, out, &errs)
	}()
	select {
	case <-has:
	case status := <-ended:
		t.Fatalf("it has ended with status %d: %s", status, errs.String())
	}
	page := exampletest.Page(t, errs.String())
	assert.Contains(t, page, `"name": "informerkit-example-foos"`, "the group")
	assert.Contains(t, page, `"name": "foos"`)
	assert.Contains(t, page, `"name": "deployments"`)
	require.NoError(t, end.Close())
	assert.Zero(t, <-ended, errs.String())
	assert.Contains(t, out.String(), "has 0 of 24 parts, with 0 foos", "it has handed over its parts")
}
