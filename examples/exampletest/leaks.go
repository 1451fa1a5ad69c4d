package exampletest

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// Main runs the tests of a package and fails if goroutines of the library, of an
// example or of an HTTP connection outlive them. Call it from TestMain.
func Main(m *testing.M) {
	code := m.Run()
	// A connection closes a moment after its last user.
	for deadline := time.Now().Add(5 * time.Second); code == 0; time.Sleep(10 * time.Millisecond) {
		left := running()
		if len(left) == 0 {
			break
		}
		if time.Now().After(deadline) {
			fmt.Fprintf(os.Stderr, "%d goroutines left behind:\n\n%s\n", len(left), strings.Join(left, "\n\n"))
			code = 1
		}
	}
	os.Exit(code)
}

func running() (left []string) {
	buf := make([]byte, 4<<20)
	stacks := strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n")
	for _, stack := range stacks[1:] { // the first one is the caller
		if strings.Contains(stack, "/informerkit/") || strings.Contains(stack, "net/http.") {
			left = append(left, stack)
		}
	}
	return left
}
