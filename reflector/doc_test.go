package reflector_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryTestThatTheDocumentationNamesExists(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("README.md")
	require.NoError(t, err)
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	inWire, err := filepath.Glob("internal/wire/*_test.go")
	require.NoError(t, err)
	files = append(files, inWire...)
	var tests strings.Builder
	for _, f := range files {
		b, err := os.ReadFile(f)
		require.NoError(t, err)
		tests.Write(b)
	}
	named := regexp.MustCompile(`\b(Test|Benchmark)[A-Z]\w+`).FindAllString(string(doc), -1)
	require.Greater(t, len(named), 50)
	for _, name := range named {
		require.True(t, strings.Contains(tests.String(), "\nfunc "+name+"("), name)
	}
}
