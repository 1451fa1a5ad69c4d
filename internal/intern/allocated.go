package intern

// Allocated returns what an allocation of n bytes takes from the heap of this Go
// version.
func Allocated(n uintptr) int { return allocated(int(n)) }
