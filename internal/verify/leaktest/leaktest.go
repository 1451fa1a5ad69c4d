// Package leaktest finds goroutines that a test left behind.
//
// The packages of this module promise that nothing runs on after Close,
// ShutDown or the end of a context. A test states that with [Check]; a test
// binary as a whole with [Main].
package leaktest

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// grace is how long a goroutine may take to end after the code under test has
// returned: an HTTP transport, for one, closes its connections asynchronously.
const grace = 5 * time.Second

// Main runs the tests of a package and fails the binary if goroutines of this
// module or of net/http are still running afterwards. Call it from TestMain.
func Main(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if left := wait(nil); len(left) > 0 {
			fmt.Fprintf(os.Stderr, "leaktest: %d goroutines left behind:\n\n%s\n", len(left), strings.Join(left, "\n\n"))
			code = 1
		}
	}
	os.Exit(code)
}

// Check registers a clean-up that fails t if goroutines started during the test
// outlive it. It compares with the goroutines that run now, so it must be
// called first and is of no use in a test that runs in parallel with others.
func Check(t testing.TB) {
	t.Helper()
	before := map[string]bool{}
	for _, g := range stacks() {
		before[id(g)] = true
	}
	t.Cleanup(func() {
		t.Helper()
		if left := wait(before); len(left) > 0 {
			t.Errorf("leaktest: %d goroutines left behind:\n\n%s", len(left), strings.Join(left, "\n\n"))
		}
	})
}

// wait returns what find finds, once that is nothing or the grace is over.
func wait(before map[string]bool) []string {
	deadline := time.Now().Add(grace)
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		left := find(before)
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
		time.Sleep(pause)
	}
}

// find returns the goroutines that are neither in before nor expected.
func find(before map[string]bool) (left []string) {
	for _, g := range stacks() {
		if !before[id(g)] && !expected(g) {
			left = append(left, g)
		}
	}
	return left
}

// stacks returns the stack of every goroutine but the calling one.
func stacks() []string {
	buf := make([]byte, 1<<20)
	for {
		n := runtime.Stack(buf, true)
		if n < len(buf) {
			return strings.Split(strings.TrimSpace(string(buf[:n])), "\n\n")[1:]
		}
		buf = make([]byte, 2*len(buf))
	}
}

// id returns the "goroutine 7" at the head of a stack.
func id(stack string) string {
	head, _, _ := strings.Cut(stack, " [")
	return head
}

// expected reports whether a goroutine belongs to the runtime or to the test
// framework rather than to the code under test.
func expected(stack string) bool {
	for _, s := range []string{
		"testing.(*T).Run(", "testing.(*M).", "testing.runFuzz", "testing.(*F).", "testing.tRunner(",
		"os/signal.signal_recv", "os/signal.loop", "runtime.ensureSigM", "runtime/pprof.", "runtime.ReadTrace",
	} {
		if strings.Contains(stack, s) {
			return true
		}
	}
	return false
}
