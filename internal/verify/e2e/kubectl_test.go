package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/informer/informertest"
	"github.com/informerkit/informerkit/internal/verify/e2e/clients"
	"github.com/informerkit/informerkit/internal/verify/e2e/controlplane"
)

// kubectl runs kubectl against one server, in one namespace.
type kubectl struct {
	t      *testing.T
	binary string
	flags  []string
	home   string
	ran    func(command string) // called after each command, if set
}

// newKubectl returns a kubectl with a home of its own, so that nothing of the
// user's configuration or caches plays a part.
func newKubectl(t *testing.T, flags ...string) *kubectl {
	t.Helper()
	paths, err := controlplane.Build(t.Context(), os.Stderr, controlplane.Kubectl)
	require.NoError(t, err)
	return &kubectl{t: t, binary: paths[0], flags: flags, home: t.TempDir()}
}

// run runs a command, which must succeed, and returns what it printed.
func (k *kubectl) run(stdin, command string) string {
	k.t.Helper()
	out, err := k.try(stdin, command)
	require.NoError(k.t, err, "kubectl %s\n%s", command, out)
	return out
}

// try runs a command.
func (k *kubectl) try(stdin, command string) (string, error) {
	cmd := exec.CommandContext(k.t.Context(), k.binary, append(append([]string{}, k.flags...), strings.Fields(command)...)...)
	cmd.Env = append(os.Environ(), "HOME="+k.home, "KUBE_EDITOR=sed -i s/replicas:.*/replicas:\\ 4/")
	cmd.Stdin = strings.NewReader(stdin)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if k.ran != nil {
		k.ran(command)
	}
	return out.String(), err
}

const webDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: "example.test/image:v1"}]}
`

// commandLog is what a server was asked by each command, in their order.
type commandLog struct {
	commands  []string
	exchanges [][]clients.Exchange
}

// What people do with kubectl all day works on the embedded server and on a real one,
// without --validate=false, and both answer its requests alike.
func TestKubectlWorksOnBothServers(t *testing.T) {
	t.Parallel()
	run := func(name string, cfg *rest.Config) *commandLog {
		log := &commandLog{}
		t.Run(name, func(t *testing.T) {
			proxy := clients.NewProxy(t, cfg, everydayNamespace)
			k := newKubectl(t, "--server="+proxy.URL)
			k.ran = func(command string) {
				exchanges := proxy.Take()
				// Several kinds are asked for at the same time.
				slices.SortStableFunc(exchanges, func(a, b clients.Exchange) int {
					if strings.HasPrefix(a.Request, "GET") && strings.HasPrefix(b.Request, "GET") {
						return strings.Compare(a.Request, b.Request)
					}
					return 0
				})
				log.commands = append(log.commands, command)
				log.exchanges = append(log.exchanges, exchanges)
			}
			everyday(k)
		})
		return log
	}
	want := run("Real", dedicated(t, controlplane.Options{}).Config())
	got := run("Embedded", informertest.Start(t, informertest.Options{Scheme: scheme.Scheme}).Config())
	require.Len(t, got.commands, len(want.commands))
	for i, command := range want.commands {
		for j := range min(len(want.exchanges[i]), len(got.exchanges[i])) {
			assert.Equal(t, want.exchanges[i][j], got.exchanges[i][j], "kubectl %s: answer %d, to %s", command, j, want.exchanges[i][j].Request)
		}
		assert.Len(t, got.exchanges[i], len(want.exchanges[i]), "kubectl %s", command)
	}
}

// everydayNamespace is where it happens.
const everydayNamespace = "kubectl-everyday"

// everyday is the list of commands.
func everyday(k *kubectl) {
	t := k.t
	k.run("", "create namespace "+everydayNamespace)
	k.flags = append(k.flags, "--namespace="+everydayNamespace)

	// Writing.
	k.run("", "create configmap settings --from-literal=a=b")
	assert.Contains(t, k.run(webDeployment, "apply -f -"), "deployment.apps/web created")
	assert.Contains(t, k.run(webDeployment, "apply -f -"), "deployment.apps/web unchanged")
	changed := strings.Replace(webDeployment, ":v1", ":v2", 1)
	diff, err := k.try(changed, "diff -f -")
	require.Error(t, err, "there is a difference")
	assert.Contains(t, diff, "+      - image: example.test/image:v2")
	assert.Contains(t, k.run(changed, "apply -f -"), "deployment.apps/web configured")
	assert.Equal(t, "example.test/image:v2", k.run("", "get deployment web -o jsonpath={.spec.template.spec.containers[0].image}"))
	misspelt := strings.Replace(webDeployment, "replicas:", "replica:", 1)
	out, err := k.try(misspelt, "apply -f -")
	require.Error(t, err)
	assert.Contains(t, out, `unknown field "spec.replica"`)
	applied := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: applied}\ndata: {k: v}\n"
	assert.Contains(t, k.run(applied, "apply --server-side -f -"), "configmap/applied serverside-applied")
	out, err = k.try(strings.Replace(applied, "k: v", "k: w", 1), "apply --server-side --field-manager=other -f -")
	require.Error(t, err)
	assert.Contains(t, out, `conflict with "kubectl"`)

	// Changing.
	assert.Contains(t, k.run("", "scale deployment web --replicas=3"), "deployment.apps/web scaled")
	assert.Equal(t, "3", k.run("", "get deployment web -o jsonpath={.spec.replicas}"))
	assert.Contains(t, k.run("", "rollout restart deployment web"), "deployment.apps/web restarted")
	assert.NotEmpty(t, k.run("", "get deployment web -o jsonpath={.spec.template.metadata.annotations}"))
	k.run("", "label deployment web tier=front")
	k.run("", "annotate deployment web note=x")
	k.run("", "patch deployment web -p {\"spec\":{\"paused\":true}}")
	k.run("", "patch deployment web --type=merge -p {\"spec\":{\"paused\":false}}")
	k.run("", "set image deployment/web c=example.test/image:v3")
	assert.Contains(t, k.run("", "edit deployment web"), "deployment.apps/web edited")
	assert.Equal(t, "4", k.run("", "get deployment web -o jsonpath={.spec.replicas}"))

	// Reading.
	k.run("", "run p --image=example.test/image")
	k.run("", "create service clusterip s --tcp=80")
	all := k.run("", "get all")
	for _, name := range []string{"pod/p", "service/s", "deployment.apps/web"} {
		assert.Contains(t, all, name)
	}
	explained := k.run("", "explain deployment.spec.strategy")
	assert.Contains(t, explained, "KIND:       Deployment")
	assert.Contains(t, explained, "rollingUpdate")
	assert.Contains(t, k.run("", "describe deployment web"), "StrategyType:           RollingUpdate")
	assert.Contains(t, k.run("", "describe pod p"), "QoS Class:        BestEffort")
	assert.Contains(t, k.run("", "auth can-i delete pods"), "yes")
	assert.Contains(t, k.run("", "api-resources --categories=all"), "deployments")

	// Waiting and deleting.
	assert.Contains(t, k.run("", "wait --for=jsonpath={.spec.replicas}=4 deployment/web --timeout=20s"), "condition met")
	k.run("", "delete pod p --now --wait=false")
	k.run("", "delete deployment web")
	assert.Contains(t, k.run("", "wait --for=delete deployment/web --timeout=20s"), "")
	out, err = k.try("", "get deployment web")
	require.Error(t, err)
	assert.Contains(t, out, `deployments.apps "web" not found`)

	// A custom resource has the columns that its definition gives it.
	crd := filepath.Join(t.TempDir(), "crd.yaml")
	require.NoError(t, os.WriteFile(crd, []byte(gadgets), 0o644))
	k.run("", "apply -f "+crd)
	k.run("", "wait --for=condition=Established crd/gadgets.kubectl.example.test --timeout=20s")
	k.run("apiVersion: kubectl.example.test/v1\nkind: Gadget\nmetadata: {name: g}\nspec: {size: 3}\n", "create -f -")
	assert.Equal(t, []string{"NAME", "SIZE", "g", "3"}, strings.Fields(k.run("", "get gadgets")))
	k.run("", "delete -f "+crd)
}

const gadgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.kubectl.example.test}
spec:
  group: kubectl.example.test
  scope: Namespaced
  names: {kind: Gadget, plural: gadgets, singular: gadget}
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}]
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {size: {type: integer}}}}
`
