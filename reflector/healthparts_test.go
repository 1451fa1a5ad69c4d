package reflector

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestHealthHasEachFieldOfItsParts fails for a field that read forgets.
func TestHealthHasEachFieldOfItsParts(t *testing.T) {
	now := time.Now()
	s := status{
		routine: routine{
			State: StateWatching, Since: now, Synced: true, ResourceRemoved: true, LastSync: now.Add(1),
			ResourceVersion: "7", LastEvent: now.Add(2), Lists: 1, WatchLists: 2, Watches: 3, Reconnects: map[ErrorClass]int{ClassClosed: 1},
		},
		trouble: &trouble{
			LastError: errors.New("refused"), LastErrorClass: ClassNetwork, LastErrorTime: now.Add(3), DegradedSince: now.Add(4),
			ConsecutiveFailures: 4, NextAttempt: now.Add(5), WatchListRefusedUntil: now.Add(6), Quarantined: 5,
			Quarantine: []*ObjectError{{}}, Audit: AuditHealth{Audits: 6},
		},
	}
	h := reflect.ValueOf(s.read())
	fields := 0
	for _, part := range []reflect.Value{reflect.ValueOf(s.routine), reflect.ValueOf(*s.trouble)} {
		for field, value := range part.Fields() {
			require.False(t, value.IsZero(), "%s is not set by this test", field.Name)
			require.Equal(t, value.Interface(), h.FieldByName(field.Name).Interface(), field.Name)
			fields++
		}
	}
	require.Equal(t, h.NumField(), fields, "each field of Health is in one of the parts")
}

// TestAReflectorThatHasNotFailedKeepsNothingOfFailures: most never fail.
func TestAReflectorThatHasNotFailedKeepsNothingOfFailures(t *testing.T) {
	var s status
	s.update(func(r *routine) { r.Synced, r.Watches = true, 1 })
	s.healAt(time.Now().Add(-1))
	h := s.read()
	require.True(t, h.Synced)
	require.Empty(t, h.Reconnects)
	require.NotNil(t, h.Reconnects, "to be added to by callers")
	require.Nil(t, s.trouble)
}
