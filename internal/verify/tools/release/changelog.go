package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// A section begins with ## [Unreleased] or ## [0.1.0] - 2026-12-31.
var section = regexp.MustCompile(`(?m)^## \[([^\]]+)\](?: - (\d{4}-\d{2}-\d{2}))?[ \t]*$`)

func (r release) checkChangelog() error {
	text, err := os.ReadFile(filepath.Join(r.root, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	return checkChangelog(string(text), strings.TrimPrefix(r.version, "v"), r.final)
}

// checkChangelog reports whether a changelog describes a version: in its own section
// or, before the last check, under Unreleased.
func checkChangelog(text, version string, final bool) error {
	heads := section.FindAllStringSubmatchIndex(text, -1)
	for i, h := range heads {
		name, end := text[h[2]:h[3]], len(text)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		described := strings.Contains(text[h[1]:end], "\n- ")
		switch {
		case name == version && h[4] < 0:
			return fmt.Errorf("CHANGELOG.md: the section [%s] has no date", version)
		case name == version && !described:
			return fmt.Errorf("CHANGELOG.md: the section [%s] is empty", version)
		case name == version:
			return nil
		case name == "Unreleased" && !final && described:
			return nil
		}
	}
	if final {
		return fmt.Errorf("CHANGELOG.md has no section: ## [%s] - YYYY-MM-DD", version)
	}
	return errors.New("CHANGELOG.md says nothing under [Unreleased]")
}
