package bugs

import (
	"flag"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/informerkit/informerkit/informer/informertest/explore"
)

var survive = flag.Int("bugs.schedules", 0, "how many schedules each mended twin has to survive; 0: as many as fit into a second")

// found says by which rules a bug may be found, and what a reader must see in the trace to understand it.
var found = map[string]struct {
	rules []string
	trace []string
}{
	"creates again on a stale cache":                     {[]string{"always"}, []string{"create pods"}},
	"a crash between two writes leaves an orphan":        {[]string{"eventually"}, []string{"crash", "delete pods default/db-"}},
	"a finalizer stays if the object changes meanwhile":  {[]string{"eventually"}, []string{"update apps default/a → 409"}},
	"creates twice after a lost answer":                  {[]string{"always"}, []string{"create jobs default/shop-"}},
	"puts back a status that another writer has changed": {[]string{"eventually", "put-back"}, []string{"patch apps/status default/mail → 200"}},
	"deletes a new object of the same name":              {[]string{"always", "wrong-object"}, []string{"stale", "delete configmaps default/bank → 200"}},
	"needs to see an intermediate state":                 {[]string{"eventually"}, []string{"delete pods default/ca-1"}},
	"loses a requeue":                                    {[]string{"eventually"}, []string{"configmaps default/"}},
	"acts after leadership was lost":                     {[]string{"leadership", "always"}, []string{"update apps/status default/app-"}},
	"its own status write starts the next reconcile":     {[]string{"write-loop", "hot-loop", "never-quiet"}, []string{"create pods default/", "status.attempts"}},
}

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // what goes wrong is wanted
	goleak.VerifyTestMain(m)
}

func TestEachBugIsFound(t *testing.T) {
	for _, c := range Cases() {
		t.Run(strings.ReplaceAll(c.Name, " ", "-"), func(t *testing.T) {
			began := time.Now()
			opts := c.Options()
			opts.Schedules, opts.Time = 1000, time.Minute
			result := explore.Search(t, opts, c.Of(c.Buggy))
			took := time.Since(began)
			require.NotNil(t, result.Finding, "not found in %d schedules, %s", result.Schedules, took)
			f := result.Finding
			t.Logf("found by schedule %d in %s, around %d writes\n%v", f.Tried, took.Round(time.Millisecond), result.Writes, f)
			assert.Positive(t, f.Tried, "it is wrong without faults")
			steady(t, c, result)
			want := found[c.Name]
			assert.Contains(t, want.rules, f.Rule)
			trace := strings.Join(f.Trace, "\n")
			for _, cause := range want.trace {
				assert.Contains(t, trace, cause)
			}
			assert.LessOrEqual(t, strings.Count(trace, "\n")+1, 20)
		})
	}
}

func TestMendedTwinsSurvive(t *testing.T) {
	for _, c := range Cases() {
		t.Run(strings.ReplaceAll(c.Name, " ", "-"), func(t *testing.T) {
			opts := c.Options()
			if opts.Schedules = *survive; opts.Schedules == 0 {
				opts.Schedules, opts.Time = 2000, time.Second
			}
			result := explore.Search(t, opts, c.Of(c.Mended))
			if result.Finding != nil {
				t.Fatalf("%v", result.Finding)
			}
			t.Logf("survived %d schedules", result.Schedules)
			steady(t, c, result)
		})
	}
}

// steady checks that equal schedules gave equal runs. Candidates for leadership wait for random times.
func steady(t *testing.T, c Case, result explore.Result) {
	t.Helper()
	if c.Replicas < 2 {
		assert.Empty(t, result.Unsteady)
	}
}
