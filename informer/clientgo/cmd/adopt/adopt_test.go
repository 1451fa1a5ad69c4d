package main

import (
	"archive/zip"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// version is that of the modules in the proxy of the test, and usedClientGo that of the program.
const version, usedClientGo = "v0.1.0", "v0.36.3"

// A program that is not changed runs with both kinds of informers, from a module proxy and
// an empty module cache, as one does that has nothing of the repository.
func TestProgramRunsUnchanged(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles client-go")
	}
	u := newUser(t)
	u.copyProgram()
	u.mustGo("mod", "init", "example.com/program")
	u.mustGo("mod", "edit", "-require="+clientGo+"@"+usedClientGo)
	u.mustGo("mod", "tidy")
	before := u.files()

	binary := filepath.Join(t.TempDir(), "program")
	u.mustAdopt("build", "-o", binary, ".")
	check := func(env, informer, controller, line string) {
		t.Helper()
		out := u.must(exec.Command(binary), env)
		for _, want := range []string{informer, controller + " [default/web]\n", line, "version=\"" + version + "\""} {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q in\n%s", env, want, out)
			}
		}
		if strings.Count(out, "INFORMERKIT") != 1 {
			t.Errorf("not one line:\n%s", out)
		}
	}
	check("INFORMERKIT=", "*cache.ourSharedInformer[", "*cache.ourcontroller", "Informers are those of informerkit")
	check("INFORMERKIT=off", "*cache.sharedIndexInformer", "*cache.controller", "Informers are client-go's own")
	if out := u.mustGo("version", "-m", binary); !strings.Contains(out, corePath+"\t"+version) {
		t.Errorf("go version -m does not name the version:\n%s", out)
	}

	if out := u.mustAdopt("-share", "go", "run", ".", "-mod"); !strings.Contains(out, "share=true") {
		t.Errorf("-share has no effect:\n%s", out)
	}
	if out, err := u.adopt("build", "./missing"); err == nil || !strings.Contains(out, "missing") {
		t.Errorf("the failure of the go command is lost: %v\n%s", err, out)
	}
	if after := u.files(); !maps.Equal(before, after) {
		t.Errorf("the folder of the program has changed: %v, before %v", slices.Sorted(maps.Keys(after)), slices.Sorted(maps.Keys(before)))
	}

	u.mustGo("mod", "vendor")
	if out := u.mustAdopt("run", "."); !strings.Contains(out, "ourSharedInformer") {
		t.Errorf("with a vendor folder:\n%s", out)
	}
	if err := os.RemoveAll(filepath.Join(u.dir, "vendor")); err != nil {
		t.Fatal(err)
	}

	// In a workspace, with a relative path and a module that replaces client-go by a folder.
	u.mustGo("mod", "edit", "-replace="+clientGo+"="+strings.TrimSpace(u.mustGo("list", "-m", "-f", "{{.Dir}}", clientGo)))
	u.env = append(u.env, "GOWORK="+filepath.Join(u.dir, "go.work"))
	u.mustGo("work", "init", ".")
	before = u.files()
	if out := u.mustAdopt("run", "."); !strings.Contains(out, "ourSharedInformer") {
		t.Errorf("in a workspace:\n%s", out)
	}
	if after := u.files(); !maps.Equal(before, after) {
		t.Error("the folder of the workspace has changed")
	}
	if left, err := os.ReadDir(u.tmp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// user is one who has a folder, Go and a module proxy.
type user struct {
	t        *testing.T
	dir, tmp string
	env      []string
}

func newUser(t *testing.T) *user {
	u := &user{t: t, dir: t.TempDir(), tmp: t.TempDir()}
	known := strings.Split(u.must(exec.Command("go", "env", "GOMODCACHE", "GOPROXY")), "\n")
	proxy := t.TempDir()
	writeProxy(t, proxy)
	u.env = []string{
		"GOMODCACHE=" + t.TempDir(), // else the go command would take this version from there
		"GOPROXY=file://" + filepath.ToSlash(proxy) + ",file://" + filepath.ToSlash(filepath.Join(known[0], "cache", "download")) + "," + known[1],
		"GONOSUMDB=" + corePath + "," + corePath + "/*",
		// So that the build cache has what other runs have compiled.
		"GOFLAGS=-trimpath -modcacherw -vet=off",
		"GOWORK=off",
		"TMPDIR=" + u.tmp,
	}
	return u
}

func (u *user) copyProgram() {
	text, err := os.ReadFile(filepath.Join("testdata", "program", "main.go"))
	if err == nil {
		err = os.WriteFile(filepath.Join(u.dir, "main.go"), text, 0o600)
	}
	if err != nil {
		u.t.Fatal(err)
	}
}

// run runs a command in the user's folder, and returns what it prints.
func (u *user) run(cmd *exec.Cmd, env ...string) (string, error) {
	cmd.Dir = u.dir
	cmd.Env = slices.Concat(os.Environ(), u.env, env)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (u *user) must(cmd *exec.Cmd, env ...string) string {
	u.t.Helper()
	out, err := u.run(cmd, env...)
	if err != nil {
		u.t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	return out
}

func (u *user) mustGo(args ...string) string {
	u.t.Helper()
	return u.must(exec.Command("go", args...))
}

// adopt runs this command from the proxy.
func (u *user) adopt(args ...string) (string, error) {
	return u.run(exec.Command("go", append([]string{"run", adapterPath + "/cmd/adopt@" + version}, args...)...))
}

func (u *user) mustAdopt(args ...string) string {
	u.t.Helper()
	out, err := u.adopt(args...)
	if err != nil {
		u.t.Fatalf("adopt %s: %v\n%s", args, err, out)
	}
	return out
}

// files returns the contents of all files in the user's folder.
func (u *user) files() map[string]string {
	all := map[string]string{}
	err := filepath.WalkDir(u.dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		all[name] = string(text)
		return err
	})
	if err != nil {
		u.t.Fatal(err)
	}
	return all
}

// writeProxy writes the modules of this repository, as they are in the working tree, in the
// form of a module proxy.
func writeProxy(t *testing.T, proxy string) {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", "..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", "informer/clientgo", "informer/clientgo/cmd/adopt"} {
		modulePath := path.Join(corePath, dir)
		to := filepath.Join(proxy, filepath.FromSlash(modulePath), "@v")
		mod, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(dir), "go.mod"))
		if err == nil {
			err = os.MkdirAll(to, 0o700)
		}
		for name, text := range map[string]string{"list": version + "\n", version + ".mod": string(mod), version + ".info": `{"Version":"` + version + `"}`} {
			if err == nil {
				err = os.WriteFile(filepath.Join(to, name), []byte(text), 0o600)
			}
		}
		if err == nil {
			err = zipModule(filepath.Join(to, version+".zip"), modulePath+"@"+version, filepath.Join(root, filepath.FromSlash(dir)))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// zipModule writes the files of the module in a folder, without modules and hidden folders below.
func zipModule(file, prefix, dir string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	w := zip.NewWriter(f)
	err = filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		if entry.IsDir() {
			_, nested := os.Stat(filepath.Join(name, "go.mod"))
			if nested == nil || strings.HasPrefix(entry.Name(), ".") {
				return filepath.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		relative, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		to, err := w.Create(prefix + "/" + filepath.ToSlash(relative))
		if err != nil {
			return err
		}
		from, err := os.Open(name)
		if err != nil {
			return err
		}
		defer from.Close()
		_, err = io.Copy(to, from)
		return err
	})
	if err != nil {
		return err
	}
	return w.Close()
}

func TestCommandsThatHaveNoEffectAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, problem string }{
		{"", "the command must be one of"},
		{"mod tidy", "the command must be one of"},
		{"get example.com/x", "the command must be one of"},
		{"test -mod=vendor ./...", "leave out -mod=vendor"},
		{"build --modfile=x ./...", "leave out --modfile=x"},
		{"test -C /tmp ./...", "leave out -C"},
		{"test ./... -args -mod=x", ""},
		{"run . -mod=x", ""},
		{"vet ./...", ""},
	} {
		err := checkCommand(strings.Fields(c.args))
		if c.problem == "" && err != nil || c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem)) {
			t.Errorf("%s: %v", c.args, err)
		}
	}
}

func TestUnknownClientGoIsNamed(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	if err := os.MkdirAll(filepath.Join(empty, "tools", "cache"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		from    module
		problem string
	}{
		{module{Version: "v0.35.4", Dir: empty}, "v0.35.4 is too old: this version needs v0.36 or newer"},
		{module{Version: "v0.36.99", Dir: empty}, "v0.36.99 is not known: its package tools/cache has no function NewSharedIndexInformerWithOptions"},
		{module{Dir: empty}, empty + " is not known"},
	} {
		err := patch(c.from, filepath.Join(t.TempDir(), "client-go"), library{adapter: filepath.Join("..", "..")}, false)
		if err == nil || !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%v instead of %s", err, c.problem)
		}
	}
}

func TestNamesThatBothHaveGetAPrefix(t *testing.T) {
	t.Parallel()
	ours := "package clientgo\n\nimport (\n\tupstream \"k8s.io/client-go/tools/cache\"\n)\n\n// Store is one.\ntype Store struct{ a upstream.Store }\n\nfunc (s *Store) keep() { s.Store() }\n\nfunc other() {}\n"
	rename, err := collisions(map[string]string{"a.go": ours}, map[string]bool{"Store": true, "keep": true, "unknown": true})
	if err != nil {
		t.Fatal(err)
	}
	want := "package cache\n\nimport (\n)\n\n// ourStore is one.\ntype ourStore struct{ a Store }\n\nfunc (s *ourStore) keep() { s.Store() }\n\nfunc other() {}\n"
	if got := moveIntoCache(ours, rename); got != want {
		t.Errorf("got\n%s", got)
	}
}
