package workqueue

import (
	"math/bits"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
)

// The sizes that the package documentation states.
func TestMemoryPerItemAndPerQueue(t *testing.T) {
	t.Parallel()
	type key [2]string // a namespace and a name
	perEntry := unsafe.Sizeof(entry[key]{}) - unsafe.Sizeof(key{})
	if bits.UintSize == 64 {
		assert.EqualValues(t, 32, perEntry)
	} else { // what is aligned less is smaller
		assert.LessOrEqual(t, perEntry, uintptr(32))
	}
	idle := unsafe.Sizeof(engine[key]{}) + unsafe.Sizeof(class[key]{}) + unsafe.Sizeof(barrier{})
	assert.LessOrEqual(t, idle, uintptr(1800))
	t.Logf("an idle queue takes %d bytes", idle)
}
