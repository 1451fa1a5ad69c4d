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
	if bits.UintSize == 64 {
		assert.EqualValues(t, 80, unsafe.Sizeof(entry[key]{}))
	}
	idle := unsafe.Sizeof(RateLimitingQueue[key]{}) + unsafe.Sizeof(class[key]{})
	assert.LessOrEqual(t, idle, uintptr(1000))
	t.Logf("an idle queue takes %d bytes", idle)
}
