package explored

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The sample controller is the package main of its module, which cannot be imported. So the tests in samplecontroller
// are compiled together with its file of the module cache, by an overlay that only the compiler sees.
func TestSampleController(t *testing.T) {
	const folder = "samplecontroller"
	list, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/sample-controller").Output()
	if err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(here, folder, "controller.go"): filepath.Join(strings.TrimSpace(string(list)), "controller.go"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(overlay, text, 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"test", "-vet=off", "-tags", folder, "-overlay", overlay, "-v", "./" + folder}
	for _, name := range []string{"explore.schedule", "explore.schedules", "explore.seed"} {
		if f := flag.Lookup(name); f.Value.String() != f.DefValue {
			args = append(args, "-"+name+"="+f.Value.String())
		}
	}
	out, err := exec.Command("go", args...).CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(out), "--- PASS: TestFoos ") {
		t.Fatal("the test did not run")
	}
}
