package e2e

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/informerkit/informerkit/internal/verify/e2e/controlplane"
)

// builtExamples is the folder of the examples' programs, "" as long as no test needs them. TestMain removes it.
var builtExamples string

// The programs have exactly the versions that the root module requires: the oldest that it supports. The code that
// these tests import has newer ones.
var buildExamples = sync.OnceValue(func() error {
	mains, err := filepath.Glob("../../../examples/*/main.go")
	if err != nil {
		return err
	}
	if builtExamples, err = os.MkdirTemp("", "e2e-examples"); err != nil {
		return err
	}
	args := []string{"-C", "../../..", "build", "-ldflags=-s -w", "-o", builtExamples + string(filepath.Separator)}
	for _, main := range mains {
		args = append(args, "./examples/"+filepath.Base(filepath.Dir(main)))
	}
	build := exec.Command("go", args...)
	build.Env = append(os.Environ(), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
})

func TestExamplesAreBuiltWithTheVersionsThatTheRootRequires(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../go.mod")
	require.NoError(t, err)
	info, err := buildinfo.ReadFile(filepath.Join(examplePrograms(t), "sharding"))
	require.NoError(t, err)
	assert.Equal(t, "github.com/informerkit/informerkit", info.Main.Path)
	for _, dep := range info.Deps {
		assert.Contains(t, string(text), "\t"+dep.Path+" "+dep.Version)
	}
	assert.Greater(t, len(info.Deps), 20)
}

// examplePrograms builds the examples, once, and returns the folder that they are in.
func examplePrograms(t *testing.T) string {
	t.Helper()
	require.NoError(t, buildExamples())
	return builtExamples
}

// example is a running example.
type example struct {
	t     *testing.T
	cmd   *exec.Cmd
	ended chan struct{}

	mu  sync.Mutex
	out bytes.Buffer // both outputs
}

// startExample starts a program that finds the cluster of kubeconfig with -cluster.
func startExample(t *testing.T, program, kubeconfig string, args ...string) *example {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	e := &example{t: t, cmd: exec.CommandContext(ctx, program, args...), ended: make(chan struct{})}
	e.cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	e.cmd.Stdout, e.cmd.Stderr = e, e
	require.NoError(t, e.cmd.Start())
	go func() {
		_ = e.cmd.Wait()
		close(e.ended)
	}()
	t.Cleanup(func() {
		cancel()
		<-e.ended
	})
	return e
}

// Write implements io.Writer.
func (e *example) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.out.Write(p)
}

func (e *example) said() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.out.String()
}

// says waits until the example has printed all of the texts.
func (e *example) says(texts ...string) {
	e.t.Helper()
	require.EventuallyWithT(e.t, func(c *assert.CollectT) {
		for _, text := range texts {
			assert.Contains(c, e.said(), text)
		}
	}, patience, 20*time.Millisecond)
}

// stop interrupts the example, which then ends well.
func (e *example) stop() {
	e.t.Helper()
	require.NoError(e.t, e.cmd.Process.Signal(os.Interrupt))
	e.endsWell()
}

func (e *example) endsWell() {
	e.t.Helper()
	select {
	case <-e.ended:
		assert.Zero(e.t, e.cmd.ProcessState.ExitCode(), e.said())
	case <-time.After(patience):
		e.t.Fatalf("%s has not ended within %v: %s", e.cmd, patience, e.said())
	}
}

// gone waits until a namespace is deleted.
func gone(t *testing.T, client kubernetes.Interface, namespace string) {
	t.Helper()
	eventually(t, func() error {
		_, err := client.CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("namespace %s: %w", namespace, err)
		}
		return nil
	})
}

// Each example that ends by itself does on a cluster what its README says, by
// -kubeconfig and by -cluster, and leaves nothing behind.
func TestExampleOnceOnACluster(t *testing.T) {
	t.Parallel()
	cp := dedicated(t, controlplane.Options{ControllerManager: true})
	client := clientFor(t, cp)
	programs := examplePrograms(t)
	kubeconfig, err := cp.Kubeconfig()
	require.NoError(t, err)

	// Two namespaces, so that -namespace makes a difference.
	namespace, other := newNamespace(t, client), newNamespace(t, client)
	for _, ns := range []string{namespace, other} {
		eventually(t, func() error { // the cluster's own, in each namespace
			_, err := client.CoreV1().ConfigMaps(ns).Get(t.Context(), "kube-root-ca.crt", metav1.GetOptions{})
			return err
		})
		_, err := client.CoreV1().ConfigMaps(ns).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "colours"}}, metav1.CreateOptions{})
		require.NoError(t, err)
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: podTemplate("web").Spec}
		eventually(t, func() error {
			_, err := client.CoreV1().Pods(ns).Create(t.Context(), pod, metav1.CreateOptions{})
			return err
		})
	}
	within := []string{"-namespace", namespace}
	for _, c := range []struct {
		name string
		args []string
		says []string
	}{
		{"config", nil, []string{"server       " + cp.Config().Host, "credentials  a token", "version      v1."}},
		{"crud", nil, []string{
			"Namespace informerkit-crud", `deployments.apps "demo" already exists`, "attempt 2: replicas = 3",
			`stored: replicas 3, note "from another writer"`, "image nginx:1.29, replicas still 3",
			"tier notin (front)   1", "0 left",
		}},
		{"dynamic", nil, []string{
			"Deployment demo", "spec.replicas = 3 (found: true)", `spec.replicas = "many": refused`,
			`spec.replica = 5: accepted and dropped (found: false), with the warning [unknown field "spec.replica"]`, "1 with tier=front",
		}},
		{"indexer", nil, []string{"between the two: Updated web-2"}},
		{"reflector", within, []string{"Replace: 2 objects at version "}},
		{"deltafifo", within, []string{"the queue has the whole list"}},
		{"informer", within, []string{"is synced, with 2 objects"}},
		{"metadata", within, []string{"full objects  1 objects:", "metadata only  1 objects:", "projection  1 objects:"}},
	} {
		for way, flags := range map[string][]string{"-kubeconfig": {"-kubeconfig", kubeconfig}, "-cluster": {"-cluster"}} {
			t.Run(c.name+" "+way, func(t *testing.T) {
				variable := kubeconfig
				if way == "-kubeconfig" {
					variable = "/no/such/file"
				}
				e := startExample(t, filepath.Join(programs, c.name), variable, append(append([]string{"-once"}, flags...), c.args...)...)
				e.endsWell()
				for _, text := range c.says {
					assert.Contains(t, e.said(), text)
				}
				for _, made := range []string{"informerkit-crud", "informerkit-dynamic"} {
					gone(t, client, made)
				}
			})
		}
	}
}

// page is a README, and the commands in it.
type page struct {
	file string
	// before are commands that come before the example is started.
	before int
	// start is the example that its commands are for, with its flags.
	start []string
	// says is what the example must have said in the end.
	says []string
}

// inReadme finds commands: a line of a block, with the lines that continue it, or a
// span.
var inReadme = regexp.MustCompile("(?m)^    (kubectl (?:[^\\n]*\\\\\\n)*[^\\n]*)|`(kubectl [^`]*)`")

// What cannot work, or not as it stands, where there are no nodes; each pattern must
// be found.
var onlyWithNodes = []struct{ pattern, instead string }{
	{`kubectl .*logs .*--follow`, ""}, // the kubelet serves logs
	{`(kubectl get pods) --watch.*`, "timeout -s INT 5 $1 --watch || [ $? = 124 ]"},
	{`(kubectl -n informerkit-leaderelection) delete pod POD.*`, "$1 delete $($1 get pods -o name | head -n 1)"},
}

// What the READMEs tell the user to do with kubectl works on a cluster, from the
// root of the repository, and leaves nothing behind.
func TestKubectlCommandsOfTheReadmes(t *testing.T) {
	t.Parallel()
	cp := dedicated(t, controlplane.Options{ControllerManager: true})
	client := clientFor(t, cp)
	programs := examplePrograms(t)
	kubeconfig, err := cp.Kubeconfig()
	require.NoError(t, err)
	paths, err := controlplane.Build(t.Context(), os.Stderr, controlplane.Kubectl)
	require.NoError(t, err)
	bin := t.TempDir()
	require.NoError(t, os.Symlink(paths[0], filepath.Join(bin, "kubectl")))
	home := t.TempDir()
	eventually(t, func() error { // else pods are refused
		_, err := client.CoreV1().ServiceAccounts("default").Get(t.Context(), "default", metav1.GetOptions{})
		return err
	})
	sh := func(t *testing.T, command string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "bash", "-euc", command)
		cmd.Dir = filepath.Join("..", "..", "..")
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "HOME="+home, "KUBECONFIG="+kubeconfig)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s\n%s", command, out)
		t.Logf("%s\n%s", command, out)
	}
	replaced := make([]bool, len(onlyWithNodes))
	for _, p := range []page{
		{file: "examples/reflector/README.md", start: []string{"reflector"}, says: []string{"Add: colours", "Update: colours", "Delete: colours"}},
		{file: "examples/foo/README.md", before: 1, start: []string{"foo"}, says: []string{"all caches have what the server has"}},
		{file: "examples/replicaset/README.md", before: 1, start: []string{"replicaset"}, says: []string{"acted on a pod\" action=created"}},
		{file: "examples/workqueue/README.md", start: []string{"workqueue"}, says: []string{"default/hello", "must be a positive duration"}},
		{
			file: "examples/namespaces/README.md", before: 1, start: []string{"namespaces"},
			says: []string{"reads namespace east", "Added east/colours", "does not read namespace east any more"},
		},
		{
			file: "examples/leaderelection/README.md", before: 1, start: []string{"leaderelection", "-namespace", "informerkit-leaderelection"},
			says: []string{"leads"},
		},
		{file: "examples/sharding/README.md", before: 1, start: []string{"sharding"}, says: []string{"has 24 of 24 parts", "joins"}},
		{file: "examples/deploy/README.md"},
	} {
		t.Run(p.file, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("..", "..", "..", p.file))
			require.NoError(t, err)
			var e *example
			found := inReadme.FindAllStringSubmatch(string(text), -1)
			require.NotEmpty(t, found)
			for i, match := range found {
				if i == p.before && p.start != nil {
					e = startExample(t, filepath.Join(programs, p.start[0]), kubeconfig, append(p.start[1:], "-cluster")...)
				}
				command := match[1] + match[2]
				for j, n := range onlyWithNodes {
					pattern := regexp.MustCompile("^" + n.pattern)
					if pattern.MatchString(command) {
						command, replaced[j] = pattern.ReplaceAllString(command, n.instead), true
					}
				}
				if command == "" {
					continue
				}
				if e != nil && strings.Contains(command, " delete ") {
					e.says(p.says[:len(p.says)-1]...) // it has seen what is deleted now
				}
				sh(t, command)
			}
			if e != nil {
				e.says(p.says...)
				e.stop()
			}
		})
	}
	for j, n := range onlyWithNodes {
		assert.True(t, replaced[j], "no README has a command like %s", n.pattern)
	}
	// What was made is gone.
	for _, name := range []string{"workqueue", "foo", "replicaset", "namespaces", "leaderelection", "sharding"} {
		gone(t, client, "informerkit-"+name)
		_, err := client.RbacV1().ClusterRoles().Get(t.Context(), "informerkit-"+name, metav1.GetOptions{})
		assert.True(t, apierrors.IsNotFound(err), "ClusterRole of %s: %v", name, err)
	}
	eventually(t, func() error {
		pods, err := client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
		if err == nil && len(pods.Items) > 0 {
			err = fmt.Errorf("%d pods are left, such as %s", len(pods.Items), pods.Items[0].Name)
		}
		return err
	})
}
