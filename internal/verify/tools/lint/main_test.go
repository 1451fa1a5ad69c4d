package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	if isVet(os.Args[1:]) {
		beVetTool(os.Args[len(os.Args)-1])
	}
	os.Exit(m.Run())
}

var (
	wanted  = regexp.MustCompile(`// want(:-1)?((?: "[^"]+")+)`)
	quoted  = regexp.MustCompile(`"[^"]+"`)
	finding = regexp.MustCompile(`(?m)^(\S+\.go):(\d+):\d+: (\S.*)$`)
)

// TestFaultsAreFound has the comments of testdata/faulty say what is found in their line,
// or, with :-1, in the one before it.
func TestFaultsAreFound(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	out, err := exec.Command("go", "vet", "-vettool="+self, "./testdata/faulty").CombinedOutput()
	require.Error(t, err)
	found := map[string][]string{}
	for _, match := range finding.FindAllStringSubmatch(string(out), -1) {
		at := filepath.Base(match[1]) + ":" + match[2]
		found[at] = append(found[at], match[3])
	}
	files, err := filepath.Glob("testdata/faulty/*.go")
	require.NoError(t, err)
	for _, file := range files {
		code, err := os.ReadFile(file)
		require.NoError(t, err)
		for i, line := range strings.Split(string(code), "\n") {
			for _, match := range wanted.FindAllStringSubmatch(line, -1) {
				number := i + 1
				if match[1] != "" {
					number--
				}
				at := fmt.Sprint(filepath.Base(file), ":", number)
				for _, want := range quoted.FindAllString(match[2], -1) {
					want = strings.Trim(want, `"`)
					rest := slices.DeleteFunc(slices.Clone(found[at]), func(f string) bool { return strings.Contains(f, want) })
					assert.NotEqual(t, len(found[at]), len(rest), "%s: not found: %s", at, want)
					found[at] = rest
				}
			}
		}
	}
	for at, more := range found {
		assert.Empty(t, more, at)
	}
}

func TestNolint(t *testing.T) {
	for comment, want := range map[string][]string{
		"//nolint:a":             {"a"},
		"//nolint:a,b // reason": {"a", "b"},
		"// nolint:a, b":         {"a", "b"},
		"//nolint":               nil,
		"//nolint // reason":     nil,
	} {
		linters, ok := parseNolint(comment)
		assert.True(t, ok, comment)
		assert.Equal(t, want, linters, comment)
	}
	for _, comment := range []string{"// lint", "//nolints", "// about nolint"} {
		_, ok := parseNolint(comment)
		assert.False(t, ok, comment)
	}
}
