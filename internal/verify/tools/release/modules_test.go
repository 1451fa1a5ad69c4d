package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"
)

func TestNestedModulesRequireTheReleasedVersions(t *testing.T) {
	t.Parallel()
	check := func(nested string) error {
		r := release{version: "v0.2.0"}
		for _, text := range []string{"module example.com/root\n", "module example.com/root/nested\n" + nested} {
			file, err := modfile.Parse("go.mod", []byte(text), nil)
			require.NoError(t, err)
			r.modules = append(r.modules, goModule{path: file.Module.Mod.Path, dir: "nested", file: file})
		}
		return r.checkRequirements()
	}
	assert.NoError(t, check("require example.com/root v0.2.0\nreplace example.com/root => ../\n"))
	assert.ErrorContains(t, check("require example.com/root v0.1.0\nreplace example.com/root => ../\n"),
		"go -C nested mod edit -require=example.com/root@v0.2.0")
	assert.ErrorContains(t, check("require example.com/root/other v0.0.0-00010101000000-000000000000\n"), "example.com/root/other")
	assert.ErrorContains(t, check("require example.com/else v1.0.0\nreplace example.com/else => ../else\n"), "no effect for users")
	assert.NoError(t, check("require example.com/rooted v1.0.0\n"), "another module")
}

func TestTagsOfModules(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "v0.1.0", goModule{}.tag("v0.1.0"))
	assert.Equal(t, "informer/prometheus/v0.1.0", goModule{dir: "informer/prometheus"}.tag("v0.1.0"))
}
