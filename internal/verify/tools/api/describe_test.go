package main

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const source = `package p

import "time"

const Answer = 42
const Wait time.Duration = 3

var Err error
var hidden int

func Make[T comparable](names ...string) (out *Box[T], err error) { return nil, nil }
func helper() {}

type Key = string
type Level int

func (Level) String() string { return "" }

type base struct{}

func (*base) Close() error { return nil }

type Box[T comparable] struct {
	base
	time.Time
	Items []T
	count int
}

func (b *Box[T]) Add(item T, again bool) {}
func (b Box[T]) len() int               { return 0 }

type Source[T any] interface {
	Level | ~string
}
type Handler interface {
	error
	Handle(key Key) func(time.Time)
	handle()
}
`

const described = `package p // import "example.test/p"

const Answer untyped int = 42

type Box[T comparable] struct
	time.Time
	Items []T
	// unexported fields
	func (*Box) Add(item T, again bool)
	func (*Box) Close() error
`

// check describes a source text.
func check(t *testing.T, text string) string {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "p.go", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	config := types.Config{Importer: importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) {
		export, err := exec.Command("go", "list", "-export", "-f", "{{.Export}}", path).Output()
		if err != nil {
			return nil, err
		}
		return os.Open(strings.TrimSpace(string(export)))
	})}
	pkg, err := config.Check("example.test/p", files, []*ast.File{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return describe(pkg)
}

func TestTheDescriptionHasAllThatCanBeUsed(t *testing.T) {
	got := check(t, source)
	if !strings.HasPrefix(got, described) {
		t.Errorf("got\n%s\nwhich must begin with\n%s", got, described)
	}
	for _, line := range []string{
		"\tfunc (Box) Unix() int64\n", "\tfunc (*Box) UnmarshalText(data []byte) error\n",
		"const Wait time.Duration = 3\n", "var Err error\n", "type Key = string\n",
		"func Make[T comparable](names ...string) (out *Box[T], err error)\n",
		"type Level int\n\tfunc (Level) String() string\n",
		"type Source[T any] interface\n\tLevel | ~string\n",
		"type Handler interface\n\terror\n\tHandle(key Key) func(time.Time)\n\t// unexported methods\n",
	} {
		if !strings.Contains(got, line) {
			t.Errorf("%q is missing in\n%s", line, got)
		}
	}
	for _, name := range []string{"hidden", "helper", "count", "len()", "\tbase\n"} {
		if strings.Contains(got, name) {
			t.Errorf("%q is not exported", name)
		}
	}
}

func TestAChangeIsSeen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "api.txt")
	if compare(file, "a\n") {
		t.Error("a missing file is a difference")
	}
	if err := os.WriteFile(file, []byte("a\nb\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if !compare(file, "a\nb\n") || compare(file, "a\n") || compare(file, "a\nc\n") {
		t.Error("only equal texts are equal")
	}
}
