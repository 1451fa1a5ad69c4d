package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestVersionsThatMayBreakTheAPI(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		last, next string
		may        bool
	}{
		{"v0.1.0", "v0.1.1", false},
		{"v0.1.0", "v0.2.0", true},
		{"v0.9.0", "v1.0.0", true},
		{"v1.0.0", "v1.1.0", false},
		{"v1.4.2", "v2.0.0", true},
	} {
		assert.Equal(t, c.may, mayBreak(c.last, c.next), "%s after %s", c.next, c.last)
	}
}
