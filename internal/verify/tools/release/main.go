// Release checks that a commit can be released: that its modules can be fetched and
// used by other modules under a version which is not tagged yet.
//
//	go -C internal/verify/tools run ./release -version v0.1.0
//
// It checks, of the commit at HEAD:
//
//  1. Every nested module that users import requires this version of the root.
//  2. CHANGELOG.md has something to say about the version; with -final, in a dated
//     section of its own.
//  3. The API has no incompatible change since the last tag, unless the version
//     allows for one (golang.org/x/exp/apidiff).
//  4. Every module, packed as the module proxy packs it, is fetched by go get into
//     an empty module and an empty module cache. README's programs and the examples
//     of the nested modules compile and run there.
//
// Modules of others come from the proxy or, if they are there, from the module cache
// of this machine, which is only read.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/mod/semver"
)

func main() {
	version := flag.String("version", "v0.1.0", "the version to release")
	final := flag.Bool("final", false, "the last check before tagging: all is committed, and CHANGELOG.md has the section of the version")
	work := flag.String("work", "", "folder for what is built, kept afterwards; a temporary one if empty")
	flag.Parse()
	if err := run(*version, *final, *work); err != nil {
		fmt.Fprintf(os.Stderr, "release %s:\n%v\n", *version, err)
		os.Exit(1)
	}
	fmt.Printf("release %s: ready\n", *version)
}

// A release is the commit at HEAD under a version.
type release struct {
	root    string // of the repository
	version string
	final   bool
	work    string // an empty folder
	modules []goModule
}

func run(version string, final bool, work string) error {
	if !semver.IsValid(version) || semver.Canonical(version) != version {
		return fmt.Errorf("%q is not a version, such as v0.1.0", version)
	}
	root, err := output("", "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	if work == "" {
		if work, err = os.MkdirTemp("", "release"); err != nil {
			return err
		}
		defer os.RemoveAll(work)
	} else if work, err = filepath.Abs(work); err != nil {
		return err
	}
	r := release{root: root, version: version, final: final, work: work}
	if err := r.checkCommitted(); err != nil {
		return err
	}
	if r.modules, err = publishedModules(root); err != nil {
		return err
	}
	var problems []error
	for _, step := range []struct {
		name  string
		check func() error
	}{
		{"requirements", r.checkRequirements},
		{"changelog", r.checkChangelog},
		{"api", r.checkAPI},
		{"fetch and use", r.checkConsumers},
	} {
		fmt.Printf("release %s: %s\n", version, step.name)
		if err := step.check(); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", step.name, err))
		}
	}
	return errors.Join(problems...)
}

// checkCommitted reports changes that are not in the commit and so not in the release.
func (r release) checkCommitted() error {
	status, err := output(r.root, "git", "status", "--porcelain")
	if err != nil || status == "" {
		return err
	}
	if r.final {
		return fmt.Errorf("changes that are not committed:\n%s", status)
	}
	fmt.Println("note: what is checked is HEAD, without changes that are not committed")
	return nil
}

// output runs a command in a folder and returns what it prints.
func output(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
