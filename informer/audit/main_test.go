package audit_test

import (
	"log/slog"
	"testing"

	"github.com/informerkit/informerkit/internal/verify/leaktest"
)

// Failures are what most tests are about, so the default logger is silent.
func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	leaktest.Main(m)
}
