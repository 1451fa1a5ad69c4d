package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/semver"
)

// checkAPI compares the exported API of each module with the last release. Before
// v1.0.0 a new minor version may break it, afterwards only a new major version may.
func (r release) checkAPI() error {
	var problems []error
	for _, m := range r.modules {
		last, err := r.lastVersion(m)
		if err != nil {
			return err
		}
		switch {
		case last == "":
			fmt.Printf("  %s: nothing is released yet\n", m.path)
		case mayBreak(last, r.version):
			fmt.Printf("  %s: %s may differ from %s\n", m.path, r.version, last)
		default:
			problems = append(problems, r.compareAPI(m, last))
		}
	}
	return errors.Join(problems...)
}

// mayBreak reports whether semantic versioning allows incompatible changes.
func mayBreak(last, next string) bool {
	if semver.Major(next) == "v0" {
		return semver.MajorMinor(last) != semver.MajorMinor(next)
	}
	return semver.Major(last) != semver.Major(next)
}

// lastVersion returns the newest version of a module before this one; empty if none
// is tagged.
func (r release) lastVersion(m goModule) (string, error) {
	tags, err := output(r.root, "git", "tag", "--merged", "HEAD", "--list", m.tag("v*"))
	if err != nil {
		return "", err
	}
	var versions []string
	for _, tag := range strings.Fields(tags) {
		version := strings.TrimPrefix(tag, strings.TrimSuffix(m.tag("v"), "v"))
		if semver.IsValid(version) && semver.Compare(version, r.version) < 0 {
			versions = append(versions, version)
		}
	}
	if len(versions) == 0 {
		return "", nil
	}
	return slices.MaxFunc(versions, semver.Compare), nil
}

// compareAPI reports incompatible changes of a module since a version.
func (r release) compareAPI(m goModule, last string) error {
	before := filepath.Join(r.work, "before")
	defer os.RemoveAll(before)
	if _, err := output(r.root, "git", "worktree", "add", "--detach", before, m.tag(last)); err != nil {
		return err
	}
	defer func() { _, _ = output(r.root, "git", "worktree", "remove", "--force", before) }()
	exported := filepath.Join(r.work, "api")
	apidiff := filepath.Join(r.work, "apidiff")
	if _, err := output(filepath.Join(r.root, "internal", "verify", "tools"), "go", "build", "-o", apidiff, "golang.org/x/exp/cmd/apidiff"); err != nil {
		return err
	}
	if _, err := output(filepath.Join(before, m.dir), apidiff, "-m", "-w", exported, m.path); err != nil {
		return err
	}
	changes, err := output(filepath.Join(r.root, m.dir), apidiff, "-m", "-incompatible", exported, m.path)
	if err != nil {
		return err
	}
	if changes != "" {
		return fmt.Errorf("%s: incompatible with %s, so %s is not its next version:\n%s", m.path, last, r.version, changes)
	}
	fmt.Printf("  %s: compatible with %s\n", m.path, last)
	return nil
}
