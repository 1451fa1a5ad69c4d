package readme

import (
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// leastWords is how many words a message has at least: fewer say nothing without their attributes.
const leastWords = 4

// logMethods are those that write a line or add attributes to a logger, with the place of the
// message among the arguments; -1: there is none.
var logMethods = map[string]int{
	"Debug": 0, "Info": 0, "Warn": 0, "Error": 0, "DebugContext": 1, "InfoContext": 1, "WarnContext": 1, "ErrorContext": 1,
	"Log": 2, "LogAttrs": 2, "With": -1,
	"warn": 1, "log": 2, "failed": 2, // those of reflector and sharding
}

var (
	isLogger     = regexp.MustCompile(`(?i)(^|\.)(s?log(ger)?(\(\))?)$`)
	isDuration   = regexp.MustCompile(`(?i)time\.Since|duration|timeout|\btook\b|wait`)
	logRow       = regexp.MustCompile("(?m)^\\| (`.*`) \\|")
	logKey       = regexp.MustCompile("`([a-zA-Z]+)`")
	logHelpers   = []string{"reflector/report.go", "informer/sharding/logging.go", "informer/leader/run.go", "workqueue/process.go", "examples/workqueue/controller/controller.go"}
	attributeFor = regexp.MustCompile(`^(String|Int|Int64|Uint64|Float64|Bool|Time|Duration|Any|Group)$`)
)

// Each attribute of a log line is one of a table, so that one thing has one name; durations are
// rounded; and each message says something alone.
func TestLogLinesHaveOneNameForEachThing(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..")
	text, err := os.ReadFile(filepath.Join(root, "informer", "README.md"))
	require.NoError(t, err)
	_, table, ok := strings.Cut(string(text), "\n## Log lines\n")
	require.True(t, ok)
	table, _, _ = strings.Cut(table, "\n## ")
	allowed := map[string]bool{}
	for _, row := range logRow.FindAllStringSubmatch(table, -1) {
		for _, key := range logKey.FindAllStringSubmatch(row[1], -1) {
			require.NotContains(t, allowed, key[1], "twice")
			allowed[key[1]] = false
		}
	}
	lines := 0
	dirs := map[string]bool{}
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(root, path)
		if rel = filepath.ToSlash(rel); err == nil && d.IsDir() {
			if rel == "internal/verify" || rel == ".git" {
				return filepath.SkipDir
			}
			dirs[path] = true
		}
		return err
	}))
	for dir := range dirs {
		for _, l := range logsOf(t, parseFiles(t, dir)) {
			rel, _ := filepath.Rel(root, l.file)
			rel = filepath.ToSlash(rel)
			for _, w := range l.wrong(slices.Contains(logHelpers, rel)) {
				assert.Fail(t, rel+": "+w)
			}
			for _, key := range l.keys {
				if _, ok := allowed[key]; !assert.True(t, ok, "%s: the attribute %q is not in the table of informer/README.md", rel, key) {
					continue
				}
				allowed[key] = true
			}
			lines++
		}
	}
	for key, used := range allowed {
		assert.True(t, used, "no line has the attribute %q", key)
	}
	assert.Greater(t, lines, 60)
}

// The check finds what it looks for.
func TestTheCheckOfLogLinesFindsFaults(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "x.go", `package x
const name = "error"
func f() {
	log.Info("a line that is as it should be", name, err, "wait", wait.Round(time.Millisecond))
	r.logger().Warn("attempt failed", "err", err, "in", wait)
	log.Error(text, args...)
	err.Error()
	args = append(args, "left", 3)
	log.LogAttrs(ctx, level, "one two " + what + " three four", slog.Int("count", 3))
}`, 0)
	require.NoError(t, err)
	found := logsOf(t, map[string]*ast.File{"x.go": file})
	require.Len(t, found, 6)
	var keys, wrong []string
	for _, l := range found {
		keys = append(keys, l.keys...)
		wrong = append(wrong, l.wrong(false)...)
	}
	assert.Equal(t, []string{"error", "wait", "err", "in", "left", "count"}, keys)
	assert.Equal(t, []string{
		`the message "attempt failed" has fewer than 4 words`, "the duration wait is not rounded",
		"the message text is no text",
	}, wrong)
}

// logLine is a call that writes a line, or adds attributes.
type logLine struct {
	file    string
	message string // "" if the call has none, or if it is no constant
	code    string // of the message
	keys    []string
	values  []string
}

func (l logLine) wrong(helper bool) (out []string) {
	switch words := len(strings.Fields(l.message)); {
	case l.code == "":
	case words == 0 && !helper:
		out = append(out, "the message "+l.code+" is no text")
	case words > 0 && words < leastWords:
		out = append(out, "the message "+l.code+" has fewer than "+strconv.Itoa(leastWords)+" words")
	}
	for _, v := range l.values {
		if isDuration.MatchString(v) && !strings.Contains(v, ".Round(time.") {
			out = append(out, "the duration "+v+" is not rounded")
		}
	}
	return out
}

// parseFiles returns the files of a folder that are no tests.
func parseFiles(t *testing.T, dir string) map[string]*ast.File {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	files := map[string]*ast.File{}
	for _, name := range names {
		if !strings.HasSuffix(name, "_test.go") {
			files[name], err = parser.ParseFile(token.NewFileSet(), name, nil, 0)
			require.NoError(t, err)
		}
	}
	return files
}

// logsOf returns the log lines of a package.
func logsOf(t *testing.T, files map[string]*ast.File) (out []logLine) {
	t.Helper()
	constants := map[string]string{}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok && len(v.Names) == 1 && len(v.Values) == 1 {
				if s, ok := constant(v.Values[0], nil); ok {
					constants[v.Names[0].Name] = s
				}
			}
			return true
		})
	}
	for name, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			l, attributes := logLine{file: name}, []ast.Expr(nil)
			fun, isMethod := call.Fun.(*ast.SelectorExpr)
			switch {
			case isMethod && code(t, fun.X) == "slog" && attributeFor.MatchString(fun.Sel.Name) && len(call.Args) == 2:
				attributes = call.Args
			case isMethod && isLog(t, fun, call.Args):
				at := logMethods[fun.Sel.Name]
				if at >= 0 && at < len(call.Args) {
					l.code = code(t, call.Args[at])
					l.message, _ = constant(call.Args[at], constants)
				}
				attributes = call.Args[min(at+1, len(call.Args)):]
				if fun.Sel.Name == "failed" && len(attributes) > 0 {
					attributes = attributes[1:] // the error
				}
			case !isMethod && len(call.Args) > 2 && code(t, call.Fun) == "append" && code(t, call.Args[0]) == "args":
				attributes = call.Args[1:]
			default:
				return true
			}
			for i := 0; i+1 < len(attributes); i += 2 {
				key, ok := constant(attributes[i], constants)
				if !ok {
					break // these are attributes, which are looked at on their own
				}
				l.keys, l.values = append(l.keys, key), append(l.values, code(t, attributes[i+1]))
			}
			out = append(out, l)
			return true
		})
	}
	return out
}

// isLog reports whether a method is one that writes a line.
func isLog(t *testing.T, fun *ast.SelectorExpr, args []ast.Expr) bool {
	t.Helper()
	switch at := logMethods[fun.Sel.Name]; fun.Sel.Name {
	case "warn", "log", "failed":
		if code(t, fun.X) != "r" || len(args) <= at {
			return false
		}
		_, ok := constant(args[at], nil)
		return ok
	}
	_, ok := logMethods[fun.Sel.Name]
	return ok && isLogger.MatchString(code(t, fun.X))
}

// constant returns the text that an expression has for sure.
func constant(e ast.Expr, constants map[string]string) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		return s, err == nil && e.Kind == token.STRING
	case *ast.Ident:
		s, ok := constants[e.Name]
		return s, ok
	case *ast.BinaryExpr:
		x, okX := constant(e.X, constants)
		y, okY := constant(e.Y, constants)
		return x + " " + y, okX || okY
	}
	return "", false
}

// code returns an expression as it is written.
func code(t *testing.T, e ast.Expr) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, printer.Fprint(&b, token.NewFileSet(), e))
	return b.String()
}
