// Command programs runs the tests of programs that use client-go and that nobody here wrote,
// with the informers of this library in place of client-go's, by the command
// informer/clientgo/cmd/adopt. No file of theirs is edited, except in one that is to have the
// cache of informer/controllerruntime: the option NewCache in its tests.
//
//	go -C internal/verify/upstream run ./programs                 # all but the slow ones: some 15 minutes from cold caches
//	go -C internal/verify/upstream run ./programs -list           # their names, and what is known to differ
//	go -C internal/verify/upstream run ./programs cert-manager    # these only; "all" for all
//	go -C internal/verify/upstream run ./programs kubernetes ./pkg/controller/job/... ./pkg/controller/podgc
//
// Each program is a module of the module proxy, in a version of list.go. The command both runs
// each of its test binaries twice: with INFORMERKIT=off, which selects client-go's informers, and
// with ours. What passes with the former has to pass with the latter. It prints a table in Markdown, and fails
// if a test does not that is not listed with the reason, or if a listed one passes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	onlyList := flag.Bool("list", false, "print the programs instead")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), "usage: programs [-list] [NAME [./PACKAGE...]]...\n\nWithout names it runs the programs that are not slow, with \"all\" all of them.\n\n")
		flag.PrintDefaults()
	}
	flag.Parse()
	if *onlyList {
		list(os.Stdout)
		return
	}
	if err := run(ctx, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, names []string) (err error) {
	chosen, err := choose(names)
	if err != nil {
		return err
	}
	tmp, err := makeFolder()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	here, err := output(ctx, ".", "go", "list", "-m", "-f", "{{.Dir}}")
	if err != nil {
		return err
	}
	r := runner{root: filepath.Join(here, "..", "..", ".."), tmp: tmp, adopt: filepath.Join(tmp, "adopt"), both: filepath.Join(tmp, "both")}
	if _, err := output(ctx, filepath.Join(r.root, "informer", "clientgo", "cmd", "adopt"), "go", "build", "-trimpath=false", "-o", r.adopt, "."); err != nil {
		return err
	}
	if _, err := output(ctx, filepath.Join(here, "programs", "both"), "go", "build", "-o", r.both, "."); err != nil {
		return err
	}
	fmt.Printf("| %s | pass with client-go's informers | with these | differ |\n|---|---:|---:|---:|\n", time.Now().Format(time.DateOnly))
	var errs []error
	for _, p := range chosen {
		if err := r.compare(ctx, p); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", p.name, err))
		}
	}
	return errors.Join(errs...)
}

// makeFolder makes the temporary folder. Its name is the same each time, as the build cache
// goes by the folders of what it has built; another one if that is in use.
func makeFolder() (string, error) {
	parent, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		return "", err
	}
	dir := filepath.Join(parent, "informerkit-programs")
	err = os.Mkdir(dir, 0o700)
	if info, failed := os.Stat(dir); err != nil && failed == nil && time.Since(info.ModTime()) > 24*time.Hour {
		// Of a process that was killed.
		if err := os.RemoveAll(dir); err != nil {
			return "", err
		}
		err = os.Mkdir(dir, 0o700)
	}
	if errors.Is(err, os.ErrExist) {
		return os.MkdirTemp(parent, "informerkit-programs-*")
	}
	return dir, err
}

// output runs a command in a folder, and returns what it prints.
func output(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out)), nil
}
