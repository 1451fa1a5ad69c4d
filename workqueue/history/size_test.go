package history

import (
	"math/bits"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
)

// The size that the package documentation states.
func TestBytesPerEntry(t *testing.T) {
	t.Parallel()
	if bits.UintSize == 64 {
		assert.EqualValues(t, 120, unsafe.Sizeof(slot{}))
		assert.EqualValues(t, 64, unsafe.Sizeof(ring{}), "a cache line")
	} else { // pointers are smaller
		assert.Less(t, unsafe.Sizeof(slot{}), uintptr(120))
	}
}

func TestNamesOfFunctions(t *testing.T) {
	t.Parallel()
	const at = "github.com/informerkit/informerkit/"
	for name, want := range map[string]string{
		at + "informer.GenerationChanged[...].func1": "GenerationChanged",
		at + "informer.(*Informer[...]).Seen.func1":  "Seen",
		at + "informer.(*Informer[...]).Seen-fm":     "Seen",
		at + "workqueue.All.func3":                   "All",
		"main.isReady":                               "main.isReady",
		"example.com/a.b/controller.(*Web).ready-fm": "controller.(*Web).ready",
		"main.setup.func1":                           "main.setup.func1",
	} {
		assert.Equal(t, want, shortName(name), name)
	}
	assert.Empty(t, FuncName(nil))
	assert.Empty(t, FuncName(7))
	assert.Empty(t, FuncName((func())(nil)))
	assert.Equal(t, "history.TestNamesOfFunctions", FuncName(TestNamesOfFunctions))
}
