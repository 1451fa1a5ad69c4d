package logs

import (
	"bytes"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestDurationsHaveThreeDigitsInALine(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]time.Duration{
		"0s": 0, "17ns": 17, "59.1ms": 59_097_713, "1.24s": 1_237_000_001, "-1.24s": -1_237_000_001, "59.9s": 59_940 * time.Millisecond,
		"1m0s": 59_960 * time.Millisecond, "1m1s": 61_400 * time.Millisecond, "2h46m40s": 10_000*time.Second + 400*time.Millisecond,
		"2000000h0m0s": 2_000_000*time.Hour + time.Millisecond,
	} {
		var line bytes.Buffer
		log := slog.New(slog.NewTextHandler(&line, nil))
		log.Info("reading from the API server failed, will retry", "wait", Round(d))
		assert.Contains(t, line.String(), " wait="+want+"\n", d)
	}
}
