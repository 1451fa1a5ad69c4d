package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// module writes the files of a module and returns its directory.
func module(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files["go.mod"] = "module example.com/m\n\ngo 1.26.0\n"
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

func TestErrorsOfOtherSystemsAreFound(t *testing.T) {
	t.Setenv("GOFLAGS", "")
	for name, c := range map[string]struct {
		file, source string
		says         []string
	}{
		"a symbol that a system lacks, in the body of a function": {
			"a.go", "package m\n\nimport \"syscall\"\n\nfunc Pid() int { return syscall.Getppid() + syscall.SYS_GETPID }\n",
			[]string{"windows/amd64: example.com/m: ", "undefined: syscall.SYS_GETPID"},
		},
		"a constant that overflows an int of 32 bits": {
			"a.go", "package m\n\nfunc Big() int { return 1 << 40 }\n",
			[]string{"linux/386: example.com/m: ", "int value in return statement (overflows)"},
		},
		"a test": {
			"a_test.go", "package m\n\nfunc big() int { return 1 << 40 }\n",
			[]string{"linux/386: ", "int value in return statement (overflows)"},
		},
		"a file for one system": {
			"a_windows.go", "package m\n\nvar _ int = \"text\"\n",
			[]string{"windows/amd64: example.com/m: ", "a_windows.go:3"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := module(t, map[string]string{"m.go": "package m\n", c.file: c.source})
			var out bytes.Buffer
			require.ErrorIs(t, run(&out, []string{"linux/amd64", "windows/amd64", "linux/386"}, dir, nil), errFound)
			for _, text := range c.says {
				assert.Contains(t, out.String(), text)
			}
			assert.NotContains(t, out.String(), "linux/amd64")
		})
	}
}

func TestWithoutErrorsNothingIsPrinted(t *testing.T) {
	t.Setenv("GOFLAGS", "")
	dir := module(t, map[string]string{"m.go": "package m\n\nimport \"net/http\"\n\nvar Client http.Client\n"})
	var out bytes.Buffer
	require.NoError(t, run(&out, []string{"darwin/arm64"}, dir, []string{"."}))
	assert.Empty(t, out.String())
}

func TestWhatCannotBeChecked(t *testing.T) {
	t.Setenv("GOFLAGS", "")
	dir := module(t, map[string]string{"m.go": "package m\n"})
	var out bytes.Buffer
	require.ErrorContains(t, run(&out, []string{"windows"}, dir, nil), `"windows" is not of the form GOOS/GOARCH`)
	require.ErrorContains(t, run(&out, []string{"plan10/amd64"}, dir, nil), "plan10/amd64")
	require.Error(t, run(&out, []string{"linux/amd64"}, dir, []string{"./missing"}))
}
