package differential

import (
	"errors"
	"flag"
	"io"
	"log/slog"
	"os"
	"testing"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// The histories are full of errors, so both sides are silenced. client-go reports
// errors through global handlers: one logs, and one sleeps by a clock that the
// bubbles would share.
func TestMain(m *testing.M) {
	flag.Parse()
	utilruntime.ErrorHandlers = nil
	var silence flag.FlagSet
	klog.InitFlags(&silence)
	if err := errors.Join(silence.Set("logtostderr", "false"), silence.Set("stderrthreshold", "FATAL")); err != nil {
		panic(err)
	}
	klog.SetOutput(io.Discard)
	slog.SetDefault(slog.New(slog.DiscardHandler))
	os.Exit(m.Run())
}
