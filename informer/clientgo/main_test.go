package clientgo_test

import (
	"os"
	"testing"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// The second of client-go's error handlers waits if the last error was less than a millisecond ago, and keeps the time
// of that error for the whole process. Time in the next bubble is before it, so there it would wait for a minute or more.
func TestMain(m *testing.M) {
	utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:1]
	os.Exit(m.Run())
}
