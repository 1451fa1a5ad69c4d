package solution

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
)

// KeepWaiting reports whether to go on waiting for a write made so long ago; missing: the copy
// still lacks it. It is for less than a minute. (Exercise 9.1)
func KeepWaiting(missing bool, ago time.Duration) bool {
	return missing && ago < time.Minute
}

// BackupName returns a name for the backup of an object: always the same, so that a second
// creation fails, and another one for another object. It has at most 63 bytes, is a valid name,
// and begins with the name of the object, shortened if need be. (Exercise 9.2)
func BackupName(name, uid string) string {
	sum := sha256.Sum256([]byte(name + "/" + uid))
	begin := strings.TrimRight(name[:min(len(name), 40)], ".") // ".-" is not valid in a name
	return begin + "-" + hex.EncodeToString(sum[:8])
}
