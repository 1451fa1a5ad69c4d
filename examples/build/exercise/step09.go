package exercise

import (
	"math/rand/v2"
	"strconv"
	"time"
)

// KeepWaiting reports whether to go on waiting for a write made so long ago; missing: the copy
// still lacks it. Wait for less than a minute. (Exercise 9.1)
func KeepWaiting(missing bool, ago time.Duration) bool {
	_ = ago
	return missing
}

// BackupName returns a name for the backup of an object: always the same, so that a second
// creation fails, and another one for another object. It has at most 63 bytes, is a valid name,
// and begins with the name of the object, shortened if need be. (Exercise 9.2)
func BackupName(name, uid string) string {
	_ = uid
	return name + "-" + strconv.FormatUint(rand.Uint64(), 36)
}
