package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMutants compares the results for a small package with those that it must have.
func TestMutants(t *testing.T) {
	const folder = "mutants/testdata/clamp"
	var printed strings.Builder
	out := t.TempDir()
	require.NoError(t, run(&printed, options{root: "..", sample: 100, parallel: 2, least: 2 * time.Second}, out, []string{folder}))
	results, err := os.ReadFile(filepath.Join(out, "mutants_testdata_clamp.txt"))
	require.NoError(t, err)

	n := map[string]int{}
	for line := range strings.Lines(string(results)) {
		result, rest, _ := strings.Cut(strings.TrimSpace(line), "\t")
		n[result]++
		rest = regexp.MustCompile(`^\S*/clamp\.go:\d+:\d+\t`).ReplaceAllString(rest, "")
		switch rest {
		case "< becomes <=\tif n < 0 { // <= lives: 0 is what it returns for 0 anyway", "> becomes >=\tif n > limit {",
			"continue becomes break\tcontinue":
			require.Equal(t, "lived", result, rest)
			require.Contains(t, printed.String(), line)
		case ">= becomes <\tif found >= 0 {":
			require.Equal(t, "timed out", result, rest)
		case "* becomes /\tfunc unused(n int) int { return n * n }":
			require.Equal(t, "not covered", result, rest)
		case "* becomes /\tfunc Turn(c complex128) complex128 { return c * 1i }":
			require.Equal(t, "not viable", result, rest)
		default:
			require.Equal(t, "killed", result, rest)
		}
	}
	require.Equal(t, map[string]int{"killed": 18, "lived": 3, "timed out": 1, "not covered": 1, "not viable": 1}, n)
	require.Contains(t, printed.String(), "left out: TestThatFailsAlways")
	require.Regexp(t, `(?m)^mutants/testdata/clamp +18 +3 +1 +1 +1 +2 +13\.6% `, printed.String())
}

// TestSample compares samples: one of another percentage has the same lines.
func TestSample(t *testing.T) {
	src := []byte(strings.Repeat("same line\n", 2000))
	small, large, other := choose(src, "7:a.go:", 10), choose(src, "7:a.go:", 50), choose(src, "8:a.go:", 10)
	size := func(lines map[int]bool) (n int) {
		for _, chosen := range lines {
			if chosen {
				n++
			}
		}
		return n
	}
	require.InDelta(t, 200, size(small), 60)
	require.InDelta(t, 1000, size(large), 150)
	for line, chosen := range small {
		require.True(t, !chosen || large[line], line)
	}
	require.NotEqual(t, small, other)
	require.Equal(t, small, choose(src, "7:a.go:", 10))
	require.Equal(t, 2001, size(choose(src, "7:a.go:", 100)))
}
