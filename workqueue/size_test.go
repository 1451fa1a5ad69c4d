package workqueue

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
)

// The sizes that the package documentation states.
func TestMemoryPerItemAndPerQueue(t *testing.T) {
	t.Parallel()
	type key [2]string // a namespace and a name
	assert.EqualValues(t, 88, unsafe.Sizeof(entry[key]{})-unsafe.Sizeof(key{}))
	assert.EqualValues(t, 64, unsafe.Sizeof(tableBucket[key]{}))
	idle := unsafe.Sizeof(engine[key]{}) + unsafe.Sizeof(segment[key]{}) + unsafe.Sizeof(class[key]{}) + unsafe.Sizeof(mark{})
	assert.LessOrEqual(t, idle, uintptr(1800))
	t.Logf("an idle queue takes %d bytes", idle)
}
