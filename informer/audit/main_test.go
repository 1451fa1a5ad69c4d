package audit_test

import (
	"log/slog"
	"testing"

	"go.uber.org/goleak"
)

// Failures are what most tests are about, so the default logger is silent.
func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	goleak.VerifyTestMain(m)
}
