// Adopt runs a go command on a program that uses client-go, with the informers of this
// library in place of client-go's. The program is not changed.
//
//	go run github.com/informerkit/informerkit/informer/clientgo/cmd/adopt@latest test ./...
//	go run github.com/informerkit/informerkit/informer/clientgo/cmd/adopt@latest -share build -o /tmp/manager ./cmd/manager
//
// It is called in the folder of the program, and takes any go command that builds:
// build, install, list, run, test, vet. What comes out has both kinds of informers. The
// environment selects one when the program starts:
//
//	INFORMERKIT=off /tmp/manager    runs client-go's
//
// So a canary and its control are one binary, and a test that fails can be run with both.
// The program logs one line when it makes its first informer, and go version -m names the
// version of this library.
//
// With -share all informers of the process store equal parts of their objects once. A
// program that modifies an object of a cache, which it must not, then damages all objects
// that share the part: run it with KUBE_CACHE_MUTATION_DETECTOR=true first. That ends the
// process where an object was modified.
//
// # How it works
//
// Generated informers are not the only ones that make informers: many programs, and
// controller-runtime, call cache.NewSharedIndexInformer themselves. So the adapters of
// informer/clientgo become part of a copy of client-go's package tools/cache, in a
// temporary folder, and its constructors call them. The go command gets a copy of go.mod
// that replaces k8s.io/client-go by this copy (-modfile), or of go.work in a workspace.
// Nothing is written to the program's folder, and the temporary one is removed.
//
// # What differs from the plain command
//
//   - Dependencies come from the module cache, also if there is a vendor folder.
//   - cache.New with a Config, cache.NewReflector and cache.NewStore stay client-go's.
//   - Versions of modules that this library needs in a newer version are raised.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

func main() {
	share := flag.Bool("share", false, "store equal parts of objects once in the whole process; see KUBE_CACHE_MUTATION_DETECTOR above")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), `usage: adopt [-share] COMMAND [arguments]

Runs "go COMMAND" (build, install, list, run, test, vet) on the module in this folder, with the
informers of github.com/informerkit/informerkit in place of client-go's. INFORMERKIT=off in the
environment of what is built selects client-go's. A program that modifies cached objects must not
use -share: run it with KUBE_CACHE_MUTATION_DETECTOR=true first.

`)
		flag.PrintDefaults()
	}
	flag.Parse()
	code, err := adopt(flag.Args(), *share)
	if err != nil {
		fmt.Fprintln(os.Stderr, "adopt:", err)
		code = 2
	}
	os.Exit(code)
}

// adopt runs a go command, and returns its exit code.
func adopt(args []string, share bool) (code int, err error) {
	if len(args) > 0 && args[0] == "go" {
		args = args[1:]
	}
	if err := checkCommand(args); err != nil {
		return 0, err
	}
	// The temporary folder must be removed whatever happens: the go command gets the signal.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	p, err := findProgram(ctx)
	if err != nil {
		return 0, err
	}
	lib, err := p.findLibrary(ctx)
	if err != nil {
		return 0, err
	}
	dir, err := makeFolder(p, lib, share)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	env, err := p.prepare(ctx, dir, lib, share)
	if err != nil {
		return 0, err
	}
	cmd := goCommand(ctx, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	var exit *exec.ExitError
	switch err := cmd.Run(); {
	case errors.As(err, &exit):
		return max(1, exit.ExitCode()), nil // -1 after a signal
	case err != nil:
		return 0, err
	}
	return 0, nil
}

// checkCommand refuses what would have no effect, or would work on the copy of go.mod.
func checkCommand(args []string) error {
	commands := []string{"build", "install", "list", "run", "test", "vet"}
	if len(args) == 0 || !slices.Contains(commands, args[0]) {
		return fmt.Errorf("the command must be one of %s; got %q", commands, args)
	}
	for _, arg := range args[1:] {
		if arg == "-args" || arg == "--args" || args[0] == "run" && !strings.HasPrefix(arg, "-") {
			break // what follows is the program's
		}
		switch flagName(arg) {
		case "mod", "modfile":
			return fmt.Errorf("leave out %s: the command uses a go.mod of its own, and the module cache", arg)
		case "C":
			return errors.New("leave out -C: change to the folder instead")
		}
	}
	return nil
}

// goCommand returns a go command that ends in an orderly way when ctx ends.
func goCommand(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	return cmd
}
