// Command mutants checks that the tests find the faults of list.txt. It applies one at a time, in an
// overlay that leaves the files alone, and runs the test that is named there:
//
//	go run ./internal/verify/mutants            # all of them: a few minutes
//	go run ./internal/verify/mutants 'indexer'  # those whose file or function matches
package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

//go:embed list.txt
var list string

func main() {
	dir, err := os.MkdirTemp("", "mutants-")
	check(err)
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	only := regexp.MustCompile(strings.Join(os.Args[1:], "|"))
	missed := 0
	for _, mutant := range strings.Split(list, "\n@ ")[1:] {
		if title, _, _ := strings.Cut(mutant, "\n"); only.MatchString(title) {
			verdict := try(dir, mutant)
			fmt.Println(verdict, title)
			if verdict != "found" {
				missed++
			}
		}
	}
	if missed > 0 {
		fmt.Println(missed, "were not found: change the test, or list.txt if the code has changed")
		os.Exit(1)
	}
}

// try returns "found" if the named test fails with the fault, and passes without it.
func try(dir, mutant string) string {
	var before, after []string
	var test []string // its package and name
	lines := strings.Split(mutant, "\n")
	for _, line := range lines[1:] {
		switch {
		case strings.HasPrefix(line, "-"):
			before = append(before, line[1:])
		case strings.HasPrefix(line, "+"):
			after = append(after, line[1:])
		case strings.HasPrefix(line, "!"):
			test = strings.Fields(line[1:])
		}
	}
	file, err := filepath.Abs(strings.Fields(lines[0])[0])
	check(err)
	code, err := os.ReadFile(file)
	if err != nil {
		return err.Error() + ":"
	}
	old := strings.Join(before, "\n")
	if strings.Count(string(code), old) != 1 {
		return "no such code:"
	}
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	check(os.WriteFile(changed, []byte(strings.Replace(string(code), old, strings.Join(after, "\n"), 1)), 0o600))
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {file: changed}})
	check(err)
	check(os.WriteFile(overlay, replace, 0o600))
	args := []string{"test", "-vet=off", "-timeout=2m", "-overlay", overlay, "-run", "^" + test[1] + "$", test[0]}
	out, err := exec.Command("go", args...).CombinedOutput()
	switch {
	case strings.Contains(string(out), "--- FAIL: "+test[1]):
		return "found"
	case err != nil:
		return "failed otherwise: " + string(out)
	}
	return "NOT FOUND:"
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
