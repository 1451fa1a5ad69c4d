package exercise_test

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/informerkit/informerkit/examples/build/exercise"
	"github.com/informerkit/informerkit/examples/build/exercise/solution"
)

// try runs the test of an exercise with the solution, and with yours if BUILD_EXERCISE has
// its number.
func try[F any](t *testing.T, number string, yours, solved F, test func(t *testing.T, f F)) {
	t.Helper()
	if os.Getenv("BUILD_EXERCISE") == number {
		t.Run("yours", func(t *testing.T) { test(t, yours) })
		return
	}
	t.Run("solution", func(t *testing.T) { test(t, solved) })
}

func TestExercise0101PollLessWhenNothingChanges(t *testing.T) {
	try(t, "1.1", exercise.NextInterval, solution.NextInterval, func(t *testing.T, next func(time.Duration, bool) time.Duration) {
		assert.Equal(t, 2*time.Second, next(time.Second, false), "double it")
		assert.Equal(t, time.Minute, next(40*time.Second, false), "up to a minute")
		assert.Equal(t, time.Second, next(time.Minute, true), "a second after a change")
	})
}

// changes calls Changes of either package, whose types differ.
func changes[O ~struct{ Name, UID, Version string }](f func(before, after []O) []string) func(before, after [][3]string) []string {
	objects := func(all [][3]string) (o []O) {
		for _, x := range all {
			o = append(o, O{Name: x[0], UID: x[1], Version: x[2]})
		}
		return o
	}
	return func(before, after [][3]string) []string { return f(objects(before), objects(after)) }
}

func TestExercise0102AnotherObjectOfTheSameName(t *testing.T) {
	try(t, "1.2", changes(exercise.Changes), changes(solution.Changes), func(t *testing.T, f func(before, after [][3]string) []string) {
		assert.Equal(t, []string{"Deleted a", "Added a"}, f([][3]string{{"a", "uid-1", "1"}}, [][3]string{{"a", "uid-2", "2"}}))
		assert.Equal(t, []string{"Updated a"}, f([][3]string{{"a", "uid-1", "1"}}, [][3]string{{"a", "uid-1", "2"}}))
		assert.Equal(t, []string{"Deleted a"}, f([][3]string{{"a", "uid-1", "1"}}, nil))
		assert.Empty(t, f([][3]string{{"a", "uid-1", "1"}}, [][3]string{{"a", "uid-1", "1"}}))
	})
}

func TestExercise0201ErrorsInAWatch(t *testing.T) {
	try(t, "2.1", exercise.ReadWatch, solution.ReadWatch, func(t *testing.T, read func(io.Reader, func(typ, name string)) error) {
		var got []string
		each := func(typ, name string) { got = append(got, typ+" "+name) }
		added := `{"type":"ADDED","object":{"metadata":{"name":"a"}}}` + "\n"
		require.ErrorIs(t, read(strings.NewReader(added), each), io.EOF)
		assert.Equal(t, []string{"ADDED a"}, got)

		got = nil
		err := read(strings.NewReader(added+`{"type":"ERROR","object":{"kind":"Status","message":"too old"}}`+"\n"+added), each)
		require.EqualError(t, err, "too old", "the watch is over, and the message says why")
		assert.Equal(t, []string{"ADDED a"}, got)

		got = nil
		require.ErrorIs(t, read(strings.NewReader(`{"type":"BOOKMARK","object":{"metadata":{}}}`), each), io.EOF)
		assert.Empty(t, got, "no change")
	})
}

func TestExercise0202LetTheServerSelect(t *testing.T) {
	try(t, "2.2", exercise.Select, solution.Select, func(t *testing.T, f func(url.Values, string) url.Values) {
		query := url.Values{"watch": {"true"}}
		assert.Equal(t, "labelSelector=app%3Dweb&watch=true", f(query, "app=web").Encode())
		assert.Equal(t, "watch=true", query.Encode(), "the query of the caller is as it was")
		assert.Equal(t, "labelSelector=app%3Dweb", f(nil, "app=web").Encode())
	})
}

func TestExercise0301WhatMovesTheVersion(t *testing.T) {
	try(t, "3.1", exercise.NextVersion, solution.NextVersion, func(t *testing.T, next func(version, typ, obj string) string) {
		for _, typ := range []string{"ADDED", "MODIFIED", "DELETED", "BOOKMARK"} {
			assert.Equal(t, "8", next("7", typ, "8"), typ)
		}
		assert.Equal(t, "7", next("7", "ERROR", ""), "an error has no version")
		assert.Equal(t, "7", next("7", "OTHER", "8"), "an event of an unknown type says nothing")
	})
}

func TestExercise0302NotAllAtTheSameTime(t *testing.T) {
	try(t, "3.2", exercise.WatchTimeout, solution.WatchTimeout, func(t *testing.T, timeout func(func() float64) time.Duration) {
		for random, want := range map[float64]time.Duration{0: 5 * time.Minute, 0.5: 450 * time.Second, 1: 10 * time.Minute} {
			assert.Equal(t, want, timeout(func() float64 { return random }), "between 5 and 10 minutes")
		}
	})
}

func TestExercise0401TheServerSaysWhen(t *testing.T) {
	try(t, "4.1", exercise.Delay, solution.Delay, func(t *testing.T, delay func(int, time.Duration) time.Duration) {
		assert.Equal(t, 4*time.Second, delay(3, 0))
		assert.Equal(t, 20*time.Second, delay(3, 20*time.Second), "not before the server asks for it")
		assert.Equal(t, 30*time.Second, delay(9, time.Second), "nor sooner than without")
		assert.Equal(t, time.Minute, delay(9, time.Minute))
	})
}

func TestExercise0402OneEventIsNoHealth(t *testing.T) {
	try(t, "4.2", exercise.Failures, solution.Failures, func(t *testing.T, failures func(int, time.Duration, int) int) {
		assert.Equal(t, 4, failures(3, time.Millisecond, 0))
		assert.Equal(t, 4, failures(3, time.Millisecond, 1), "a server that sends one event and hangs up, again and again")
		assert.Equal(t, 0, failures(3, time.Minute, 0), "a quiet watch is healthy")
	})
}

func TestExercise0501AnIndexOfLabels(t *testing.T) {
	try(t, "5.1", exercise.Values, solution.Values, func(t *testing.T, values func(map[string]string) []string) {
		assert.Equal(t, []string{"app=web", "tier=front"}, values(map[string]string{"tier": "front", "app": "web"}))
		assert.Empty(t, values(nil), "an object without labels is found under none")
	})
}

func TestExercise0502TheDifferenceOfTwoSnapshots(t *testing.T) {
	try(t, "5.2", exercise.Diff, solution.Diff, func(t *testing.T, diff func(before, after map[string]string) (added, updated, deleted []string)) {
		added, updated, deleted := diff(map[string]string{"a": "1", "b": "1", "c": "1", "d": "1"}, map[string]string{"a": "1", "b": "2", "e": "3", "f": "3"})
		assert.Equal(t, []string{"e", "f"}, added)
		assert.Equal(t, []string{"b"}, updated)
		assert.Equal(t, []string{"c", "d"}, deleted)
	})
}

// deltas calls a function on deltas of either package, whose types differ.
func deltas[D ~struct{ Type, Name string }, R any](f func([]D) R) func(text string) string {
	return func(text string) string {
		var all []D
		for _, word := range strings.Fields(text) {
			typ, name, _ := strings.Cut(word, ":")
			all = append(all, D{Type: typ, Name: name})
		}
		return fmt.Sprint(f(all))
	}
}

func TestExercise0601OneDeletionIsEnough(t *testing.T) {
	try(t, "6.1", deltas(exercise.Merge), deltas(solution.Merge), func(t *testing.T, merge func(string) string) {
		assert.Equal(t, "[{Added a} {Deleted a} {Added b}]", merge("Added:a Deleted:a Added:b Deleted:a"), "with others between them, too")
		assert.Equal(t, "[{Deleted a} {Added a} {Deleted a}]", merge("Deleted:a Added:a Deleted:a"), "not if it was there between them")
		assert.Equal(t, "[{Updated a} {Updated a}]", merge("Updated:a Updated:a"), "two updates are two")
	})
}

func TestExercise0602TheDeltasOfEachObject(t *testing.T) {
	try(t, "6.2", deltas(exercise.ByObject), deltas(solution.ByObject), func(t *testing.T, group func(string) string) {
		assert.Equal(t, "[[{Added b} {Deleted b}] [{Added a} {Updated a}]]", group("Added:b Added:a Updated:a Deleted:b"))
	})
}

// filter calls Filter of either package, whose types differ.
func filter[E ~struct{ Type, Name, Old, New string }](f func(func(string) bool, E) (E, bool)) func(typ, old, now string) string {
	return func(typ, old, now string) string {
		event, ok := f(func(value string) bool { return value == "web" }, E{Type: typ, Name: "a", Old: old, New: now})
		if !ok {
			return "nothing"
		}
		return fmt.Sprintf("%+v", event)
	}
}

func TestExercise0701AFilterChangesTheType(t *testing.T) {
	try(t, "7.1", filter(exercise.Filter), filter(solution.Filter), func(t *testing.T, f func(typ, old, now string) string) {
		assert.Equal(t, "{Type:Added Name:a Old: New:web}", f("Added", "", "web"))
		assert.Equal(t, "nothing", f("Added", "", "db"))
		assert.Equal(t, "{Type:Updated Name:a Old:web New:web}", f("Updated", "web", "web"))
		assert.Equal(t, "nothing", f("Updated", "db", "db"))
		assert.Equal(t, "{Type:Added Name:a Old: New:web}", f("Updated", "db", "web"), "it is new to the handler")
		assert.Equal(t, "{Type:Deleted Name:a Old:web New:}", f("Updated", "web", "db"), "it is gone for the handler")
		assert.Equal(t, "{Type:Deleted Name:a Old:web New:}", f("Deleted", "web", ""))
		assert.Equal(t, "nothing", f("Deleted", "db", ""))
	})
}

// catchUp calls CatchUp of either package, whose types differ.
func catchUp[E any](f func(seen, now map[string]string) []E) func(seen, now map[string]string) string {
	return func(seen, now map[string]string) string { return fmt.Sprint(f(seen, now)) }
}

func TestExercise0702CatchUpByDifference(t *testing.T) {
	try(t, "7.2", catchUp(exercise.CatchUp), catchUp(solution.CatchUp), func(t *testing.T, f func(seen, now map[string]string) string) {
		seen, now := map[string]string{"a": "1", "b": "1", "c": "1"}, map[string]string{"a": "1", "b": "2", "d": "1"}
		kept := maps.Clone(seen)
		assert.Equal(t, "[{Updated b 1 2} {Deleted c 1 } {Added d  1}]", f(seen, now))
		assert.Equal(t, kept, seen, "what was seen is as it was")
		assert.Equal(t, "[]", f(now, now))
	})
}

// queue is the queue of either package.
type queue interface {
	Add(item string, urgent bool)
	Get() (item string, ok bool)
}

func TestExercise0801UrgentFirstAndNobodyStarves(t *testing.T) {
	try[queue](t, "8.1", &exercise.Queue{}, &solution.Queue{}, func(t *testing.T, q queue) {
		for n := range 6 {
			q.Add(fmt.Sprint("u", n), true)
		}
		q.Add("a", false)
		q.Add("b", false)
		var got []string
		for item, ok := q.Get(); ok; item, ok = q.Get() {
			got = append(got, item)
		}
		assert.Equal(t, []string{"u0", "u1", "u2", "a", "u3", "u4", "u5", "b"}, got)
	})
}

func TestExercise0802TheEarliestCounts(t *testing.T) {
	try[interface{ Add(string, time.Time) }](t, "8.2", exercise.Delays{}, solution.Delays{}, func(t *testing.T, d interface{ Add(string, time.Time) }) {
		noon := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
		for _, minutes := range []int{5, 1, 9} {
			d.Add("a", noon.Add(time.Duration(minutes)*time.Minute))
		}
		assert.Contains(t, fmt.Sprint(d), "12:01:00")
	})
}

func TestExercise0901NotForEver(t *testing.T) {
	try(t, "9.1", exercise.KeepWaiting, solution.KeepWaiting, func(t *testing.T, wait func(bool, time.Duration) bool) {
		assert.True(t, wait(true, time.Second))
		assert.True(t, wait(true, 59*time.Second), "the watch may be late")
		assert.False(t, wait(true, time.Minute), "a server that was restored from a backup may never get to the version")
		assert.False(t, wait(false, time.Second))
	})
}

func TestExercise0902ANameThatCannotBeTakenTwice(t *testing.T) {
	try(t, "9.2", exercise.BackupName, solution.BackupName, func(t *testing.T, name func(name, uid string) string) {
		assert.Equal(t, name("a", "1"), name("a", "1"), "the second creation fails")
		all := []string{name("a", "1"), name("a", "2"), name("b", "1"), name(strings.Repeat("x", 63), "1"), name(strings.Repeat("x", 62)+"y", "1")}
		slices.Sort(all)
		assert.Len(t, slices.Compact(all), 5, "one for each")
		for _, n := range all {
			assert.LessOrEqual(t, len(n), 63)
		}
		assert.True(t, strings.HasPrefix(name("colours", "1"), "colours"), "people read it")
		for n := 1; n < 63; n++ { // a dot, wherever the name is cut
			long := strings.Repeat("x", n) + "." + strings.Repeat("y", 63)
			assert.Empty(t, validation.IsDNS1123Subdomain(name(long, "1")), "the server refuses %s", name(long, "1"))
		}
	})
}

// free calls Free of either package, whose types differ.
func free[L ~struct {
	Holder  string
	Renewed time.Time
}](f func(lease L, me string, unchangedSince, now time.Time) bool) func(holder string, renewed, unchangedSince, now time.Time) bool {
	return func(holder string, renewed, unchangedSince, now time.Time) bool {
		return f(L{Holder: holder, Renewed: renewed}, "me", unchangedSince, now)
	}
}

func TestExercise1001ClocksDiffer(t *testing.T) {
	try(t, "10.1", free(exercise.Free), free(solution.Free), func(t *testing.T, f func(holder string, renewed, unchangedSince, now time.Time) bool) {
		now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
		before := now.Add(-time.Hour)
		assert.False(t, f("other", before, now.Add(-time.Second), now), "its clock is an hour slow, and it has just renewed")
		assert.True(t, f("other", now.Add(time.Hour), now.Add(-15*time.Second), now), "its clock is an hour fast, and it is gone")
		assert.True(t, f("", now, now, now))
		assert.True(t, f("me", before, now, now))
	})
}

func TestExercise1002FromWhenTheLeaseCounts(t *testing.T) {
	try(t, "10.2", exercise.Leads, solution.Leads, func(t *testing.T, leads func(sent, answered, now time.Time) bool) {
		sent := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
		assert.True(t, leads(sent, sent.Add(4*time.Second), sent.Add(9*time.Second)))
		assert.False(t, leads(sent, sent.Add(4*time.Second), sent.Add(11*time.Second)), "others may count from the moment it was sent")
	})
}

func TestExercisesHaveNumbers(t *testing.T) {
	n := os.Getenv("BUILD_EXERCISE")
	if n == "" {
		return
	}
	var step, exercise int
	if _, err := fmt.Sscanf(n, "%d.%d", &step, &exercise); err != nil || step < 1 || step > 10 || exercise < 1 || exercise > 2 {
		t.Error(errors.New("BUILD_EXERCISE is from 1.1 to 10.2, and not " + n))
	}
}
