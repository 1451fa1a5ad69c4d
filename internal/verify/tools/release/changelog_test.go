package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestChangelogDescribesTheVersion(t *testing.T) {
	t.Parallel()
	const unreleased, dated = "# C\n\n## [Unreleased]\n\n- news\n", "\n## [0.1.0] - 2026-12-31\n\n- first\n"
	for _, c := range []struct {
		name, text string
		final      bool
		problem    string
	}{
		{"before the last check, Unreleased will do", unreleased, false, ""},
		{"the last check wants a section", unreleased, true, "no section"},
		{"a dated section", "## [Unreleased]\n" + dated, true, ""},
		{"a section of another version", unreleased + "\n## [0.0.9] - 2026-01-01\n\n- old\n", true, "no section"},
		{"no date", "## [0.1.0]\n\n- first\n", true, "no date"},
		{"an empty section", "## [0.1.0] - 2026-12-31\n\n## [0.0.9] - 2026-01-01\n\n- old\n", true, "empty"},
		{"nothing at all", "## [Unreleased]\n\n## [0.0.9] - 2026-01-01\n\n- old\n", false, "says nothing"},
	} {
		err := checkChangelog(c.text, "0.1.0", c.final)
		if c.problem == "" {
			assert.NoError(t, err, c.name)
		} else {
			assert.ErrorContains(t, err, c.problem, c.name)
		}
	}
}
