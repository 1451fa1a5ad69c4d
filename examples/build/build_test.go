package build

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the diffs and the outputs into the READMEs")

const (
	steps = 10
	// most is how many lines a step may add to the one before.
	most = 120
	// mostOfAll is how many lines the last step may have, all in all.
	mostOfAll = 1000
)

func folder(step int) string { return fmt.Sprintf("step%02d", step) }

// sources returns the Go files of a step without tests and its command, by their names.
func sources(t *testing.T, step int) map[string]string {
	t.Helper()
	files := map[string]string{}
	root := folder(step)
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() && entry.Name() == "cmd" {
			if err == nil {
				err = fs.SkipDir
			}
			return err
		}
		if entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(root, path)
		files[filepath.ToSlash(name)] = string(text)
		return err
	}))
	return files
}

// code returns the lines of a file without comments, empty lines, imports and the package.
func code(t *testing.T, text string) []string {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", text, parser.ParseComments)
	require.NoError(t, err)
	content := []byte(text)
	blank := func(from, to token.Pos) {
		for n := files.Position(from).Offset; n < files.Position(to).Offset; n++ {
			if content[n] != '\n' {
				content[n] = ' '
			}
		}
	}
	for _, group := range file.Comments {
		for _, comment := range group.List {
			blank(comment.Pos(), comment.End())
		}
	}
	for _, decl := range file.Decls {
		if d, ok := decl.(*ast.GenDecl); ok && d.Tok == token.IMPORT {
			blank(d.Pos(), d.End())
		}
	}
	blank(file.Package, file.Name.End())
	var lines []string
	for line := range strings.Lines(string(content)) {
		if line = strings.TrimRight(line, " \t\n"); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// A step adds few lines to the one before, and keeps most of it.
func TestStepsAreSmall(t *testing.T) {
	before := map[string]string{}
	for step := 1; step <= steps; step++ {
		now := sources(t, step)
		added, removed, all := 0, 0, 0
		for _, name := range slices.Sorted(maps.Keys(join(before, now))) {
			for _, l := range diff(code(t, before[name]+packageOf(before[name])), code(t, now[name]+packageOf(now[name]))) {
				switch l[0] {
				case '+':
					added++
				case '-':
					removed++
				}
				if l[0] != '-' {
					all++
				}
			}
		}
		t.Logf("step %d: %d lines; %d added, %d removed", step, all, added, removed)
		assert.LessOrEqual(t, added, most, "step %d adds too many lines", step)
		assert.LessOrEqual(t, removed, most/2, "step %d keeps too little of the step before", step)
		before = now
	}
	all := 0
	for _, text := range before {
		all += len(code(t, text))
	}
	command, err := os.ReadFile(filepath.Join(folder(steps), "cmd", "main.go"))
	require.NoError(t, err)
	assert.LessOrEqual(t, all+len(code(t, string(command))), mostOfAll)
}

// packageOf makes a file of no file.
func packageOf(text string) string {
	if text == "" {
		return "package none\n"
	}
	return ""
}

func join(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// diff returns the lines of both, with what becomes of them in the first byte: ' ', '-', '+'.
func diff(before, after []string) []string {
	// common[i][j] is how many lines before[i:] and after[j:] have in common.
	common := make([][]int, len(before)+1)
	for i := range common {
		common[i] = make([]int, len(after)+1)
	}
	for i := len(before) - 1; i >= 0; i-- {
		for j := len(after) - 1; j >= 0; j-- {
			if before[i] == after[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var lines []string
	for i, j := 0, 0; i < len(before) || j < len(after); {
		switch {
		case i < len(before) && j < len(after) && before[i] == after[j]:
			lines = append(lines, " "+before[i])
			i, j = i+1, j+1
		case j == len(after) || i < len(before) && common[i+1][j] >= common[i][j+1]:
			lines = append(lines, "-"+before[i])
			i++
		default:
			lines = append(lines, "+"+after[j])
			j++
		}
	}
	return lines
}

// shown returns a diff of a file as a README shows it: what has changed, with two lines around
// it, and "…" for what is left out. Imports are left out, too.
func shown(before, after string) string {
	lines := diff(body(before), body(after))
	keep := make([]bool, len(lines))
	for n, l := range lines {
		if l[0] != ' ' {
			for m := max(0, n-2); m <= min(len(lines)-1, n+2); m++ {
				keep[m] = true
			}
		}
	}
	var out strings.Builder
	for n, l := range lines {
		switch {
		case keep[n]:
			out.WriteString(strings.TrimRight(l, " ") + "\n")
		case n == 0 || keep[n-1]:
			out.WriteString("…\n")
		}
	}
	return out.String()
}

// body returns the lines of a file after its imports.
func body(text string) []string {
	if _, after, ok := strings.Cut(text, "\n)\n\n"); ok && strings.Contains(text, "\nimport (\n") {
		text = after
	} else if _, after, ok := strings.Cut(text, "\n\n"); ok {
		text = after
	}
	return strings.Split(strings.TrimRight(text, "\n"), "\n")
}

var (
	diffBlock   = regexp.MustCompile("(?s)(<!-- diff ([a-z/.]+) -->\n```diff\n)(.*?)(```\n)")
	outputBlock = regexp.MustCompile("(?s)(<!-- output -->\n```\n)(.*?)(```\n)")
	links       = regexp.MustCompile(`\]\(([^)#:, ]+)(#[^)]*)?\)`)
)

// What a README shows is the true difference to the step before, and what its command prints.
func TestReadmesAreTrue(t *testing.T) {
	for step := 1; step <= steps; step++ {
		t.Run(folder(step), func(t *testing.T) {
			name := filepath.Join(folder(step), "README.md")
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			golden, err := os.ReadFile(filepath.Join(folder(step), "testdata", "output.golden"))
			require.NoError(t, err)
			now, before := sources(t, step), map[string]string{}
			diffs := 0
			if step > 1 {
				before = sources(t, step-1)
			}
			want := diffBlock.ReplaceAllStringFunc(string(text), func(block string) string {
				diffs++
				m := diffBlock.FindStringSubmatch(block)
				require.Contains(t, now, m[2])
				return m[1] + shown(before[m[2]], now[m[2]]) + m[4]
			})
			outputs := 0
			want = outputBlock.ReplaceAllStringFunc(want, func(block string) string {
				outputs++
				m := outputBlock.FindStringSubmatch(block)
				return m[1] + string(golden) + m[3]
			})
			if *update {
				require.NoError(t, os.WriteFile(name, []byte(want), 0o644))
				return
			}
			assert.Equal(t, want, string(text), "go test ./examples/build -update writes it")
			assert.Equal(t, 1, outputs, "it shows the output")
			assert.Equal(t, step > 1, diffs > 0, "it shows a diff")
			assert.Contains(t, string(text), "\n## In the library\n")
			assert.Contains(t, string(text), "\n## Exercises\n")
			checkLinks(t, name, string(text))
		})
	}
}

func TestLinksOfTheIndex(t *testing.T) {
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	checkLinks(t, "README.md", string(text))
}

func checkLinks(t *testing.T, page, text string) {
	t.Helper()
	for _, link := range links.FindAllStringSubmatch(text, -1) {
		_, err := os.Stat(filepath.Join(filepath.Dir(page), link[1]))
		assert.NoError(t, err, "%s leads to %s", page, link[1])
	}
}

// A reader may copy a step: it needs nothing of the library, and nothing of another step.
func TestStepsImportNothingOfTheRepository(t *testing.T) {
	for step := 1; step <= steps; step++ {
		for name, text := range sources(t, step) {
			assert.NotContains(t, text, `"github.com/informerkit/`, "step %d: %s", step, name)
		}
	}
}
