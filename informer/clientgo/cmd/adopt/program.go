package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const clientGo = "k8s.io/client-go"

// program is the module, or the workspace, in the present folder.
type program struct {
	mod, work string // go.mod, and go.work if there is one
	flags     []string
	clientGo  module // what it uses
}

// module is what the go command says of one.
type module struct {
	Path, Version, Dir, Error string
	Main                      bool
	Replace                   *module
}

// modFile is what go mod edit -json or go work edit -json says of a file.
type modFile struct {
	Go      string
	Use     []struct{ DiskPath string }
	Replace []struct{ Old, New module }
}

// findProgram finds out what is to be built, and which client-go it uses.
func findProgram(ctx context.Context) (program, error) {
	var env struct{ GOMOD, GOWORK, GOFLAGS string }
	if err := goJSON(ctx, nil, &env, "env", "-json", "GOMOD", "GOWORK", "GOFLAGS"); err != nil {
		return program{}, err
	}
	p := program{mod: env.GOMOD, flags: strings.Fields(env.GOFLAGS)}
	if env.GOWORK != "off" {
		p.work = env.GOWORK
	}
	if slices.ContainsFunc(p.flags, func(f string) bool { return flagName(f) == "modfile" }) {
		return p, errors.New("GOFLAGS has -modfile: leave it out, as the command uses a go.mod of its own")
	}
	if p.work == "" && (p.mod == "" || p.mod == os.DevNull) {
		return p, errors.New("there is no go.mod here: change to the folder of the program")
	}
	p.flags = slices.DeleteFunc(p.flags, func(f string) bool { return flagName(f) == "mod" })
	// A vendor folder does not say where a module is, and a go.mod that is not tidy is the
	// business of the command that follows: a copy of it is asked.
	flags := p.flags
	if p.work == "" {
		tmp, err := os.MkdirTemp("", "informerkit-adopt-*")
		if err != nil {
			return p, err
		}
		defer os.RemoveAll(tmp)
		if err := copyModFile(p.mod, tmp); err != nil {
			return p, err
		}
		flags = append(slices.Clone(p.flags), modFlags(tmp)...)
	}
	if err := goJSON(ctx, goFlags(flags), &p.clientGo, "list", "-m", "-json", clientGo); err != nil {
		return p, fmt.Errorf("the program does not use %s: %w", clientGo, err)
	}
	used := p.clientGo
	if used.Replace != nil {
		used.Dir = used.Replace.Dir
		if used.Replace.Version != "" {
			used.Version = used.Replace.Version
		}
	}
	if used.Dir == "" {
		if err := goJSON(ctx, goFlags(flags), &used, "mod", "download", "-json", clientGo); err != nil {
			return p, err
		}
	}
	p.clientGo = used
	return p, nil
}

// prepare fills a temporary folder, and returns what the environment of the go command
// needs to use it.
func (p program) prepare(ctx context.Context, dir string, lib library, share bool) ([]string, error) {
	patched := filepath.Join(dir, "client-go")
	if err := patch(p.clientGo, patched, lib, share); err != nil {
		return nil, err
	}
	edits := []string{"-replace=" + clientGo + "=" + patched}
	if lib.core != "" {
		edits = append(edits, "-replace="+corePath+"="+lib.core)
	}
	if p.work != "" {
		file, err := p.copyWorkspace(ctx, dir)
		if err != nil {
			return nil, err
		}
		// go.work cannot require a module, so another module of the workspace does.
		required := filepath.Join(dir, "required")
		text := "module " + corePath + "/adopted\n\ngo 1.26.0\n\nrequire " + corePath + " " + lib.version + "\n"
		if err := errors.Join(os.Mkdir(required, 0o700), os.WriteFile(filepath.Join(required, "go.mod"), []byte(text), 0o600)); err != nil {
			return nil, err
		}
		edits = append(edits, "-use="+required)
		env := append(goFlags(p.flags), "GOWORK="+file)
		return env, goJSON(ctx, env, nil, slices.Concat([]string{"work", "edit"}, edits, []string{file})...)
	}
	if err := copyModFile(p.mod, dir); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "go.mod")
	dropped, err := p.droppedReplacements(ctx, "mod", file)
	if err != nil {
		return nil, err
	}
	edits = slices.Concat([]string{"mod", "edit"}, dropped, edits, []string{"-require=" + corePath + "@" + lib.version, file})
	return goFlags(append(slices.Clone(p.flags), modFlags(dir)...)), goJSON(ctx, goFlags(p.flags), nil, edits...)
}

// droppedReplacements returns the edits that take replacements of client-go out of a file.
func (p program) droppedReplacements(ctx context.Context, kind, file string) (edits []string, err error) {
	var parsed modFile
	if err := goJSON(ctx, goFlags(p.flags), &parsed, kind, "edit", "-json", file); err != nil {
		return nil, err
	}
	for _, r := range parsed.Replace {
		if r.Old.Path == clientGo || r.Old.Path == corePath {
			edit := "-dropreplace=" + r.Old.Path
			if r.Old.Version != "" {
				edit += "@" + r.Old.Version
			}
			edits = append(edits, edit)
		}
	}
	return edits, nil
}

// copyWorkspace copies go.work into a folder, without client-go if that is part of the
// workspace. Its paths are absolute there.
func (p program) copyWorkspace(ctx context.Context, dir string) (string, error) {
	text, err := os.ReadFile(p.work)
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "go.work")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return "", err
	}
	if sums, err := os.ReadFile(p.work + ".sum"); err == nil {
		if err := os.WriteFile(file+".sum", sums, 0o600); err != nil {
			return "", err
		}
	}
	var parsed modFile
	if err := goJSON(ctx, goFlags(p.flags), &parsed, "work", "edit", "-json", file); err != nil {
		return "", err
	}
	edits, err := p.droppedReplacements(ctx, "work", file)
	if err != nil {
		return "", err
	}
	top := filepath.Dir(p.work)
	absolute := func(path string) string {
		if filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(top, path)
	}
	for _, use := range parsed.Use {
		edits = append(edits, "-dropuse="+use.DiskPath)
		if path := absolute(use.DiskPath); path != p.clientGo.Dir {
			edits = append(edits, "-use="+path)
		}
	}
	for _, r := range parsed.Replace {
		if r.Old.Path != clientGo && r.Old.Path != corePath && r.New.Version == "" {
			old := r.Old.Path
			if r.Old.Version != "" {
				old += "@" + r.Old.Version
			}
			edits = append(edits, "-replace="+old+"="+absolute(r.New.Path))
		}
	}
	return file, goJSON(ctx, goFlags(p.flags), nil, slices.Concat([]string{"work", "edit"}, edits, []string{file})...)
}

// makeFolder makes the temporary folder. Its name is the same for the same input, as the
// build cache goes by the folders of what it has built.
func makeFolder(p program, lib library, share bool) (string, error) {
	sum := sha256.Sum256(fmt.Append(nil, p.clientGo.Dir, lib, share))
	// Below the user's own cache: in the shared temporary folder another user could be there first.
	parent, err := os.UserCacheDir()
	if err != nil {
		return os.MkdirTemp("", "informerkit-adopt-*")
	}
	parent = filepath.Join(parent, "informerkit-adopt")
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return os.MkdirTemp("", "informerkit-adopt-*")
	}
	dir := filepath.Join(parent, fmt.Sprintf("%x", sum[:6]))
	err = os.Mkdir(dir, 0o700)
	if info, failed := os.Stat(dir); err != nil && failed == nil && time.Since(info.ModTime()) > 24*time.Hour {
		// Of a process that was killed.
		if err := os.RemoveAll(dir); err != nil {
			return "", err
		}
		err = os.Mkdir(dir, 0o700)
	}
	if errors.Is(err, os.ErrExist) { // another process is using it
		return os.MkdirTemp("", "informerkit-adopt-*")
	}
	return dir, err
}

// modFlags are the flags that select the go.mod in a folder, in the form of GOFLAGS.
func modFlags(dir string) []string {
	file := "-modfile=" + filepath.Join(dir, "go.mod")
	if strings.ContainsAny(file, " \t") {
		file = "'" + file + "'"
	}
	return []string{"-mod=mod", file}
}

// goFlags is the environment of a go command with these flags.
func goFlags(flags []string) []string { return []string{"GOFLAGS=" + strings.Join(flags, " ")} }

// flagName returns the name of a flag, or "" for what is none.
func flagName(arg string) string {
	name, isFlag := strings.CutPrefix(arg, "-")
	if !isFlag {
		return ""
	}
	name, _, _ = strings.Cut(strings.TrimPrefix(name, "-"), "=")
	return name
}

// copyModFile copies go.mod and go.sum into a folder.
func copyModFile(mod, dir string) error {
	text, err := os.ReadFile(mod)
	if err != nil {
		return err
	}
	sums, err := os.ReadFile(strings.TrimSuffix(mod, ".mod") + ".sum")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "go.mod"), text, 0o600),
		os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o600),
	)
}

// goJSON runs a go command, and decodes what it prints into v, if that is not nil.
func goJSON(ctx context.Context, env []string, v any, args ...string) error {
	cmd := goCommand(ctx, args...)
	cmd.Env = append(os.Environ(), env...)
	var failure bytes.Buffer
	cmd.Stderr = &failure
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		// go mod download -json has the reason there.
		var m module
		if failure.Len() == 0 && json.Unmarshal(out, &m) == nil {
			failure.WriteString(m.Error)
		}
		return fmt.Errorf("go %s: %s", strings.Join(args, " "), bytes.TrimSpace(failure.Bytes()))
	}
	if err != nil || v == nil {
		return err
	}
	return json.Unmarshal(out, v)
}
