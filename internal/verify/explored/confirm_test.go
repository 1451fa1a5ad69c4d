package explored

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A finding that a version of a controller has fixed, or that looks different now, is noticed.
func TestAFindingThatIsNoneIsNoticed(t *testing.T) {
	subject := replicaSetSubject()
	known := Finding{Schedule: "gap@a5:replicasets:3", Rule: "dead-owner"}
	assert.NoError(t, known.confirm(t, subject))

	fixed := known
	fixed.Schedule = "crash-before@w1"
	assert.ErrorContains(t, fixed.confirm(t, subject), "crash-before@w1 survives: if this version of the controller has fixed it")
	other := known
	other.Rule = "panic"
	assert.ErrorContains(t, other.confirm(t, subject), "want panic")
	other = known
	other.Reason = "another reason"
	assert.ErrorContains(t, other.confirm(t, subject), "another reason")
	unlike := known
	unlike.Trace = []string{"garbage is collected", "fault    gap@a5:replicasets:3"} // the other way round
	assert.ErrorContains(t, unlike.confirm(t, subject), "not in this order")
}
