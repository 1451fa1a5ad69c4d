package inspect

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/reflector"
)

// Every pair of problems, of every pair of severities: a cause comes before its
// consequence, and else the worse one before the other.
func TestCausesComeBeforeConsequences(t *testing.T) {
	grades := []severity{severityNote, severityWarning, severityError}
	classes := append([]reflector.ErrorClass{"", reflector.ClassForbidden}, ofServer...)
	pairs := 0
	for _, a := range kinds {
		for _, b := range kinds {
			for _, class := range classes {
				for _, worseA := range grades {
					for _, worseB := range grades {
						pairs++
						first, second := problem{Kind: a, Severity: worseA, class: class}, problem{Kind: b, Severity: worseB}
						got := sortProblems([]problem{second, first})
						switch cause, worst := first.explains(b), slices.MaxFunc([]severity{worseA, worseB}, func(x, y severity) int { return x.rank() - y.rank() }); {
						case a == b:
						case cause:
							require.Equal(t, a, got[0].Kind, "%s (%s, %s) explains %s (%s)", a, worseA, class, b, worseB)
							require.Equal(t, worst, got[0].Severity, "it is as bad as what it causes")
						case second.explains(a):
							require.Equal(t, b, got[0].Kind)
						default:
							require.Equal(t, worst, got[0].Severity, "%s (%s), %s (%s)", a, worseA, b, worseB)
						}
					}
				}
			}
		}
	}
	t.Logf("%d pairs", pairs)
}

// The tables name kinds that there are, and the order of kinds agrees with them, so no
// two problems explain each other.
func TestTheTablesOfCausesAgree(t *testing.T) {
	check := func(cause string, consequences []string) {
		assert.Contains(t, kinds, cause)
		for _, c := range consequences {
			assert.Contains(t, kinds, c)
			assert.Less(t, slices.Index(kinds, cause), slices.Index(kinds, c), "%s explains %s", cause, c)
		}
	}
	for cause, consequences := range explains {
		check(cause, consequences)
	}
	check("not-synced", serverTrouble)
	check("degraded", serverTrouble)
	for _, class := range ofServer {
		assert.Contains(t, causes, class)
	}
}

// A chain: the server is down, so the replica has no session, so nothing was started and
// no worker runs. The order in which the parts are asked does not matter.
func TestTheCauseOfACauseComesFirst(t *testing.T) {
	all := []problem{
		{Kind: "no-workers", Severity: severityError}, {Kind: "not-started", Severity: severityError}, {Kind: "exposed", Severity: severityNote},
		{Kind: "no-session", Severity: severityError}, {Kind: "degraded", Severity: severityWarning, class: reflector.ClassRefused}, {Kind: "lag", Severity: severityWarning},
	}
	var got []string
	for _, p := range sortProblems(all) {
		got = append(got, p.Kind)
	}
	require.Equal(t, []string{"degraded", "no-session", "not-started", "no-workers", "lag", "exposed"}, got)
}

// One cause that hits several informers is one problem.
func TestOneCauseIsOneProblem(t *testing.T) {
	now := time.Now()
	broken := func(name string, class reflector.ErrorClass, since time.Duration, namespaces ...string) informerReport {
		inf := informerReport{Name: name}
		if len(namespaces) == 0 {
			namespaces = []string{""}
		}
		for _, ns := range namespaces {
			inf.Sources = append(inf.Sources, sourceReport{
				Namespace: ns, State: "Degraded", Synced: since > 0, DegradedSince: now.Add(-since),
				LastError: &errorReport{Class: string(class), Message: "dial tcp of " + name + " 100%s"},
			})
		}
		return inf
	}
	problems := func(all ...informerReport) (merged []problem) {
		for i := range all {
			merged = append(merged, all[i].problems(now)...)
		}
		return sortProblems(mergeProblems(merged))
	}
	const refused = "nothing listens at the server's address (connection refused)."

	one := problems(broken("pods", "refused", 0), broken("nodes", "refused", 0), broken("jobs", "refused", 0))
	require.Len(t, one, 1)
	assert.Equal(t, "Informers pods, nodes and jobs are not synced: "+refused, one[0].Sentence)
	assert.Equal(t, "informer pods", one[0].Part)
	assert.Equal(t, []string{"informer nodes", "informer jobs"}, one[0].Also)
	assert.Contains(t, one[0].Detail, "dial tcp of pods 100%s")

	// The longest time, and the worst severity, whichever comes first.
	one = problems(broken("pods", "refused", 10*time.Second), broken("nodes", "refused", 40*time.Second))
	require.Len(t, one, 1)
	assert.Equal(t, "Informers pods and nodes have been out of touch with the server for 40s: "+refused, one[0].Sentence)
	assert.Equal(t, severityError, one[0].Severity)

	// Namespaces of one informer, and more names than a sentence bears.
	one = problems(broken("pods", "refused", time.Minute, "a", "b"))
	require.Len(t, one, 1)
	assert.Equal(t, "Informers pods (namespace a) and pods (namespace b) have been out of touch with the server for 1m: "+refused, one[0].Sentence)
	assert.Empty(t, one[0].Also)
	var many []informerReport
	for i := range 5 {
		many = append(many, broken(fmt.Sprint("n", i), "refused", 0))
	}
	assert.Equal(t, "Informers n0, n1, n2 and 2 more are not synced: "+refused, problems(many...)[0].Sentence)

	// Other causes stay apart: each has its own remedy.
	two := problems(broken("pods", "refused", 0), broken("nodes", "forbidden", 0), broken("jobs", "refused", time.Minute))
	assert.Len(t, two, 3)

	not := problems(informerReport{Name: "a", Sources: []sourceReport{{State: "New"}}}, informerReport{Name: "b", Sources: []sourceReport{{State: "New"}}})
	require.Len(t, not, 1)
	assert.Equal(t, "Informers a and b have not been started.", not[0].Sentence)
}
