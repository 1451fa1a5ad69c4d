package intern

import (
	"sort"
)

// classes are the sizes of memory that Go's allocator gives out, in bytes.
//
// They are those of the runtime (sizeclasses.go), which no package exports. Estimates
// of memory depend on them, nothing else.
var classes = []int{
	8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256, 288, 320, 352, 384, 416, 448, 480, 512,
	576, 640, 704, 768, 896, 1024, 1152, 1280, 1408, 1536, 1792, 2048, 2304, 2688, 3072, 3200, 3456, 4096, 4864, 5120, 5376,
	6144, 6528, 6784, 6912, 8192, 9472, 9728, 10240, 10880, 12288, 13568, 14336, 16384, 18432, 19072, 20480, 21760, 24576,
	27264, 28672, 32768,
}

// smallClasses has the class of small allocations, by their size in words. Most
// allocations of an object are that small, and this saves a search for each.
var smallClasses = func() (by [65]int) {
	for i := range by {
		by[i] = classes[sort.SearchInts(classes, 8*i)]
	}
	by[0] = 0
	return by
}()

// allocated returns what an allocation of n bytes takes. Above the largest class the
// allocator gives out whole pages.
func allocated(n int) int {
	const page = 8192
	if words := (n + 7) / 8; words < len(smallClasses) {
		return smallClasses[words]
	}
	i := sort.SearchInts(classes, n)
	if i == len(classes) {
		return (n + page - 1) / page * page
	}
	return classes[i]
}

// Allocated returns what an allocation of n bytes takes from the heap of this Go
// version.
func Allocated(n uintptr) int { return allocated(int(n)) }
