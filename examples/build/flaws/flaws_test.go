package flaws

import (
	"bytes"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/examples/exampletest"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // what fails is meant to
	exampletest.Main(m)
}

// Each flaw is there in its step, and in none from the one on that mends it.
func TestFlawIsThereAndMendedByTheNextStep(t *testing.T) {
	for _, flaw := range All {
		steps := []int{flaw.Step}
		for step := flaw.Mended; step <= 10 && (flaw.Step != withLock || step == 5); step++ {
			steps = append(steps, step)
		}
		for _, step := range steps {
			t.Run(fmt.Sprintf("%s, %s", flaw.Story, Of(step)), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					came, err := Play(t.Context(), flaw, step)
					require.NoError(t, err)
					want := flaw.Right
					if step == flaw.Step {
						want = flaw.Wrong
					}
					assert.Equal(t, want, came)
				})
			})
		}
	}
}

var update = flag.Bool("update", false, "write what the commands print to ../stepNN/testdata/output.golden")

// What the command of each step prints is recorded beside it.
func TestCommandsPrintWhatIsRecorded(t *testing.T) {
	for step := 1; step <= 10; step++ {
		t.Run(Of(step), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				require.NoError(t, Show(t.Context(), &out, step))
				golden := filepath.Join("..", fmt.Sprintf("step%02d", step), "testdata", "output.golden")
				if *update {
					require.NoError(t, os.MkdirAll(filepath.Dir(golden), 0o755))
					require.NoError(t, os.WriteFile(golden, out.Bytes(), 0o644))
				}
				want, err := os.ReadFile(golden)
				require.NoError(t, err, "go test ./examples/build/flaws -update makes it")
				assert.Equal(t, string(want), out.String())
			})
		})
	}
}
