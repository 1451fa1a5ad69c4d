package cachesuite

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/internal/verify/e2e/controlplane"
)

// files are the test files that use what is exported.
var files = []string{"cache_test.go", "cache_suite_test.go", "informer_cache_test.go"}

// virtual is the folder that the files are compiled in. It does not exist.
const virtual = "controllerruntime"

// differs has the ends of the names of the tests that fail, and why.
var differs = map[string]string{
	"as an Informer should be able to get informer for the object without blocking": "it sets Options.NewInformer, which is refused: it would replace what is tested",
	"TestReaderWaitsForCacheSync": "the same",
	"TestIndexFieldDoesNotBlock":  "the same",
	"as an Informer with structured objects should be able to get informer for the object":           "typed objects of events have apiVersion and kind, which client-go clears",
	"as an Informer with structured objects should be able to get an informer by group/version/kind": "the same",
}

func TestControllerRuntimesTestsOfItsCache(t *testing.T) {
	programs, err := controlplane.Build(t.Context(), os.Stderr, controlplane.Etcd, controlplane.KubeAPIServer)
	require.NoError(t, err)
	tmp := t.TempDir()
	for i, name := range []string{"etcd", "kube-apiserver"} { // as envtest expects them
		require.NoError(t, os.Symlink(programs[i], filepath.Join(tmp, name)))
	}

	binary := filepath.Join(tmp, "cache.test")
	goOutput(t, "test", "-c", "-vet=off", "-overlay", overlay(t, tmp), "-o", binary, "./"+virtual)
	report := filepath.Join(tmp, "report.json")
	// Ginkgo's own timeout stops the API server, which that of package testing would not.
	cmd := exec.CommandContext(t.Context(), binary, "-test.v", "-ginkgo.no-color", "-ginkgo.timeout=10m", "-ginkgo.json-report="+report)
	cmd.Env = append(os.Environ(), "KUBEBUILDER_ASSETS="+tmp, "KUBEBUILDER_CONTROLPLANE_START_TIMEOUT=3m",
		"GOMEGA_DEFAULT_EVENTUALLY_TIMEOUT=5s") // 1s otherwise: too little for a busy machine
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	output, _ := cmd.CombinedOutput() // it fails because of those that differ

	passed := results(t, report, string(output))
	listed := map[string]bool{}
	good := 0
	for name, ok := range passed {
		reason, end := "", ""
		for suffix, why := range differs {
			if strings.HasSuffix(name, suffix) {
				reason, end = why, suffix
			}
		}
		if end != "" {
			listed[end] = true
			require.False(t, ok, "%s passes, and so it must leave the list of those that differ (%s)", name, reason)
			continue
		}
		require.True(t, ok, "%s fails:\n%s", name, output)
		good++
	}
	for end := range differs {
		require.True(t, listed[end], "%q is not a test any more", end)
	}
	require.Greater(t, good, 250, "tests are missing:\n%s", output)
	t.Logf("%d tests of controller-runtime pass, %d differ", good, len(passed)-good)
}

// overlay returns a file for go test -overlay that adds a package below this one, of the
// test files with our cache. It exists for the compiler only.
func overlay(t *testing.T, tmp string) string {
	const imported = "\t\"sigs.k8s.io/controller-runtime/pkg/cache\"\n"
	here, err := os.Getwd()
	require.NoError(t, err)
	from := filepath.Join(goOutput(t, "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/controller-runtime"), "pkg", "cache")
	replaced := map[string]string{}
	news := 0
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join(from, name))
		require.NoError(t, err)
		call := regexp.MustCompile(`\bcache\.New\b`)
		if n := len(call.FindAll(text, -1)); n > 0 {
			news += n
			require.Contains(t, string(text), imported)
			text = []byte(strings.Replace(string(text), imported, imported+"\t\"github.com/informerkit/informerkit/informer/controllerruntime\"\n", 1))
			text = call.ReplaceAll(text, []byte("controllerruntime.New"))
		}
		copied := filepath.Join(tmp, name)
		require.NoError(t, os.WriteFile(copied, text, 0o644))
		replaced[filepath.Join(here, virtual, name)] = copied
	}
	require.Greater(t, news, 5, "the tests make their caches in another way")
	file := filepath.Join(tmp, "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": replaced})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, text, 0o644))
	return file
}

// results returns which specs of Ginkgo, and which plain tests, have passed, by name.
func results(t *testing.T, report, output string) map[string]bool {
	var suites []struct {
		SpecReports []struct {
			ContainerHierarchyTexts           []string
			LeafNodeType, LeafNodeText, State string
		}
	}
	text, err := os.ReadFile(report)
	require.NoError(t, err, "%s", output)
	require.NoError(t, json.Unmarshal(text, &suites))
	passed := map[string]bool{}
	for _, suite := range suites {
		for _, spec := range suite.SpecReports {
			if spec.LeafNodeType != "It" {
				require.Equal(t, "passed", spec.State, "%s", output)
				continue
			}
			name := strings.Join(append(spec.ContainerHierarchyTexts, spec.LeafNodeText), " ")
			before, twice := passed[name]
			passed[name] = spec.State == "passed" && (before || !twice)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^--- (PASS|FAIL|SKIP): (\w+) `).FindAllStringSubmatch(output, -1) {
		if m[2] != "TestSource" { // the specs
			passed[m[2]] = m[1] == "PASS"
		}
	}
	return passed
}

func goOutput(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput()
	require.NoError(t, err, "go %s\n%s", strings.Join(args, " "), out)
	return strings.TrimSpace(string(out))
}
