package deltafifo

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFirstObjectThatCannotBeQueuedIsFound(t *testing.T) {
	t.Parallel()
	good, nameless := newThing("a", "1"), newThing("", "1")
	for name, c := range map[string]struct {
		objs []thing
		want int
	}{
		"none":                     {nil, -1},
		"all good":                 {[]thing{good, good}, -1},
		"nil first":                {[]thing{nil, good}, 0},
		"nil last":                 {[]thing{good, good, nil}, 2},
		"no name last":             {[]thing{good, good, nameless}, 2},
		"nil before one unnamed":   {[]thing{good, nil, nameless}, 1},
		"one unnamed before nil":   {[]thing{good, nameless, nil, nil}, 1},
		"one unnamed, a long list": {append(append([]thing{good, nameless}, good, good), nameless), 1},
	} {
		assert.Equal(t, c.want, firstInvalid(c.objs), name)
	}
	assert.Equal(t, 1, firstInvalid([]Object{good, nil, nameless}), "a T that is an interface")
}
