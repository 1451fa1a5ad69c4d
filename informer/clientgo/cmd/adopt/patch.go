package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
)

const (
	corePath    = "github.com/informerkit/informerkit"
	adapterPath = corePath + "/informer/clientgo"
)

// library is where this library is.
type library struct {
	version string
	adapter string // the folder of informer/clientgo
	core    string // that of the library in a checkout of the repository; else it comes from the module proxy
}

// findLibrary finds the sources of the version that this command has.
func (p program) findLibrary(ctx context.Context) (library, error) {
	if _, file, _, ok := runtime.Caller(0); ok && filepath.IsAbs(file) {
		adapter := filepath.Join(filepath.Dir(file), "..", "..")
		if _, err := os.Stat(filepath.Join(adapter, "go.mod")); err == nil {
			return library{version: "v0.0.0-00010101000000-000000000000", adapter: adapter, core: filepath.Join(adapter, "..", "..")}, nil
		}
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || !strings.HasPrefix(info.Main.Version, "v") {
		return library{}, errors.New("this command has no version: run it by go run PATH@VERSION, or in a checkout of the repository")
	}
	// Modules of the repository have their versions in common.
	var m module
	if err := goJSON(ctx, append(goFlags(p.flags), "GOWORK=off"), &m, "mod", "download", "-json", adapterPath+"@"+info.Main.Version); err != nil {
		return library{}, err
	}
	return library{version: info.Main.Version, adapter: m.Dir}, nil
}

// adapters are the files that become part of client-go's package tools/cache.
var adapters = []string{
	"boxed.go", "classic.go", "generated.go", "handler.go", "indexer.go", "informermetrics.go",
	"logging.go", "registration.go", "share.go", "sharedinformer.go", "source.go", "watcherrors.go",
}

// constructors are the functions of client-go in whose place ours are called.
var constructors = []string{
	"NewSharedIndexInformerWithOptions", "NewInformerWithOptions", "NewInformer", "NewIndexerInformer",
	"NewTransformingInformer", "NewTransformingIndexerInformer",
}

// adopted declares the constructors in client-go's package.
//
//go:embed adopted.go.txt
var adopted string

// The versions of client-go that are tested.
const oldest, newest = 36, 37

// patch copies client-go to a folder, with our informers in its package tools/cache.
func patch(from module, to string, lib library, share bool) error {
	version := from.Version
	if version == "" {
		version = from.Dir
	}
	if minor := minorVersion(from.Version); minor > 0 && minor < oldest {
		return fmt.Errorf("%s %s is too old: this version needs v0.%d or newer", clientGo, version, oldest)
	} else if minor > newest {
		fmt.Fprintf(os.Stderr, "adopt: note: %s %s is newer than v0.%d, the newest that was tested\n", clientGo, version, newest)
	}
	if err := os.CopyFS(to, os.DirFS(from.Dir)); err != nil {
		return err
	}
	cache := filepath.Join(to, "tools", "cache")
	theirs, err := renameConstructors(cache)
	if err != nil {
		return fmt.Errorf("%s %s is not known: %w", clientGo, version, err)
	}
	ours := map[string]string{}
	for _, name := range adapters {
		text, err := os.ReadFile(filepath.Join(lib.adapter, name))
		if err != nil {
			return err
		}
		ours[name] = string(text)
	}
	rename, err := collisions(ours, theirs)
	if err != nil {
		return err
	}
	for name, text := range ours {
		if err := os.WriteFile(filepath.Join(cache, "informerkit_"+name), []byte(moveIntoCache(text, rename)), 0o600); err != nil {
			return err
		}
	}
	text := strings.NewReplacer("VERSION", lib.versionName(), "SHARE", strconv.FormatBool(share)).Replace(adopted)
	return os.WriteFile(filepath.Join(cache, "informerkit.go"), []byte(text), 0o600)
}

// versionName is what the program logs.
func (l library) versionName() string {
	if l.core != "" {
		return "in " + filepath.ToSlash(l.core)
	}
	return l.version
}

// minorVersion returns 36 for v0.36.3, and 0 for what is no such version.
func minorVersion(version string) int {
	parts := strings.Split(version, ".")
	if len(parts) < 3 || parts[0] != "v0" {
		return 0
	}
	n, _ := strconv.Atoi(parts[1]) // 0 for v0.0.0 of a replaced module
	return n
}

// renameConstructors gives client-go's constructors other names, and returns all names
// that the package declares.
func renameConstructors(dir string) (declared map[string]bool, err error) {
	files, err := fs.Glob(os.DirFS(dir), "*.go")
	if err != nil {
		return nil, err
	}
	declared = map[string]bool{}
	missing := slices.Clone(constructors)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file := filepath.Join(dir, name)
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if err := declarations(string(text), declared); err != nil {
			return nil, err
		}
		changed := string(text)
		missing = slices.DeleteFunc(missing, func(fn string) bool {
			before := changed
			changed = strings.Replace(changed, "\nfunc "+fn+"(", "\nfunc their"+fn+"(", 1)
			return changed != before
		})
		if changed != string(text) {
			if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
				return nil, err
			}
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("its package tools/cache has no function %s", strings.Join(missing, ", "))
	}
	return declared, nil
}

// declarations adds the names that a file declares for its package.
func declarations(text string, to map[string]bool) error {
	file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				to[d.Name.Name] = true
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					to[s.Name.Name] = true
				case *ast.ValueSpec:
					for _, name := range s.Names {
						to[name.Name] = true
					}
				}
			}
		}
	}
	return nil
}

// collisions matches the names that both declare. It returns nil if there are none.
func collisions(ours map[string]string, theirs map[string]bool) (*regexp.Regexp, error) {
	declared := map[string]bool{}
	for name, text := range ours {
		if err := declarations(text, declared); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	var both []string
	for name := range declared {
		if theirs[name] && name != "_" {
			both = append(both, name)
		}
	}
	if len(both) == 0 {
		return nil, nil
	}
	slices.Sort(both)
	// Not behind a dot: that is the name of another package, or of a method or field.
	return regexp.Compile(`(^|[^.\w])(` + strings.Join(both, "|") + `)\b`)
}

var packageClause = regexp.MustCompile(`(?m)^package clientgo$`)

// moveIntoCache turns a file that imports client-go's package as upstream into one of that
// package. Names of ours that the package has already get the prefix "our".
func moveIntoCache(text string, rename *regexp.Regexp) string {
	text = packageClause.ReplaceAllString(text, "package cache")
	text = strings.Replace(text, "\tupstream \"k8s.io/client-go/tools/cache\"\n", "", 1)
	if rename != nil {
		text = rename.ReplaceAllString(text, "${1}our$2")
	}
	return strings.ReplaceAll(text, "upstream.", "")
}
