package workqueue_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/informerkit/informerkit/workqueue"
)

// story collects observations in a form that can be compared: the step, the item and what
// belongs to the step, with times from the start.
type story struct {
	start time.Time

	mu    sync.Mutex
	lines []string
}

func (s *story) observe(o workqueue.Observation[string]) {
	steps := map[workqueue.Step]string{
		workqueue.StepAdd: "add", workqueue.StepReject: "reject", workqueue.StepDelay: "delay", workqueue.StepRetry: "retry", workqueue.StepDue: "due",
		workqueue.StepTake: "take", workqueue.StepOutcome: "outcome", workqueue.StepDone: "done", workqueue.StepPark: "park", workqueue.StepUnpark: "unpark",
	}
	line := fmt.Sprintf("%v %s %s", o.Time.Sub(s.start), steps[o.Step], o.Item)
	for _, part := range []struct {
		name string
		has  bool
	}{
		{"requested", o.Requested}, {"running", o.Running}, {"parked", o.Parked}, {"timed out", o.TimedOut}, {"processed", o.Processed},
		{fmt.Sprintf("class %d", o.Class), o.Class != 0}, {fmt.Sprint("for ", o.Duration), o.Duration != 0}, {fmt.Sprint("attempt ", o.Attempt), o.Attempt != 0},
		{fmt.Sprint("because ", o.Why), o.Why != nil}, {fmt.Sprint("action ", o.Action), o.Action != ""}, {fmt.Sprint(o.Err), o.Err != nil},
	} {
		if part.has {
			line += ", " + part.name
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, line)
	// The queue reports the end of a delay, and the worker that it wakes may be faster.
	at, took := fmt.Sprintf("%v due %s,", o.Time.Sub(s.start), o.Item), fmt.Sprintf("%v take %s,", o.Time.Sub(s.start), o.Item)
	if n := len(s.lines); n > 1 && strings.HasPrefix(line, at) && strings.HasPrefix(s.lines[n-2], took) {
		s.lines[n-2], s.lines[n-1] = s.lines[n-1], s.lines[n-2]
	}
}

// String is the story so far.
func (s *story) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.lines, "\n")
}

// TestAnObserverSeesEachStep has each step of a queue's items, with what belongs to it.
func TestAnObserverSeesEachStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &story{start: time.Now()}
		q := workqueue.NewRateLimiting(workqueue.FastSlow[string](time.Minute, time.Minute, 0), workqueue.Options[string]{
			MaxWait: []time.Duration{0, time.Hour}, Observe: s.observe,
		})
		take := func() string {
			item, ok := q.Get(t.Context())
			require.True(t, ok)
			return item
		}
		q.AddAfter("a", time.Minute)
		time.Sleep(10 * time.Second)
		q.AddAfter("a", time.Minute) // the earlier one counts
		q.AddAfter("a", 20*time.Second)
		time.Sleep(25 * time.Second)
		q.AddAfter("a", time.Minute) // it is queued
		take()
		time.Sleep(time.Second)
		q.AddRateLimited("a")
		q.Add("a")
		q.Add("a")
		q.Done("a")
		take()
		q.AddAfter("a", 0)
		q.Done("a")
		take()
		q.Done("a")
		time.Sleep(time.Minute)
		q.ShutDown()
		q.Add("a")
		assert.Equal(t, `0s delay a, for 1m0s
10s delay a, for 50s
10s delay a, for 20s
30s due a, requested
35s add a
35s take a, running, for 5s
36s retry a, running, for 1m0s, attempt 1
36s add a, requested, running
36s add a, running
36s done a, for 1s
36s take a, running
36s add a, requested, running
36s done a
36s take a, running
36s done a
1m36s reject a`, s.String())
	})
}

// TestAnObserverSeesTheOutcomesOfProcessing adds what [workqueue.ProcessWith] does.
func TestAnObserverSeesTheOutcomesOfProcessing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &story{start: time.Now()}
		q := workqueue.NewRateLimiting(workqueue.FastSlow[string](time.Minute, time.Minute, 0), workqueue.Options[string]{Observe: s.observe})
		n := 0
		q.AddBecause("a", "a test")
		err := workqueue.ProcessWith(t.Context(), q, workqueue.ProcessOptions[string]{Workers: 1}, func(context.Context, string) (workqueue.Result, error) {
			time.Sleep(time.Second)
			switch n++; n {
			case 1:
				return workqueue.Result{}, errors.New("no")
			case 2:
				return workqueue.Result{RequeueAfter: time.Hour}, nil
			}
			q.ShutDown()
			return workqueue.Result{}, errors.New("too late")
		})
		require.NoError(t, err)
		assert.Equal(t, `0s add a, requested, because a test
0s take a, running
1s outcome a, running, for 1s, attempt 1, action retried, no
1s retry a, running, for 1m0s, attempt 1
1s done a, processed, for 1s
1m1s due a, requested
1m1s take a, running
1m2s outcome a, running, for 1s, attempt 2, action requeued
1m2s delay a, running, for 1h0m0s
1m2s done a, processed, for 1s
1h1m2s due a, requested
1h1m2s take a, running
1h1m3s outcome a, running, for 1s, attempt 1, action retried, too late
1h1m3s outcome a, running, for 1s, attempt 1, action interrupted, too late
1h1m3s done a, processed, for 1s`, s.String())
	})
}

// TestAnObserverSeesParks has the ways in which a park ends, and what is asked for meanwhile.
func TestAnObserverSeesParks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &story{start: time.Now()}
		q := workqueue.NewDelaying(workqueue.Options[string]{Observe: s.observe})
		var met func()
		until := workqueue.ConditionFunc(func(f func()) (cancel func()) { met = f; return nil })
		q.Add("met")
		item, ok := q.Get(t.Context())
		require.True(t, ok)
		q.Park(item, until, time.Hour)
		q.Done(item)
		q.Add("met")
		time.Sleep(time.Second)
		met()
		q.Park("met", until, time.Hour) // of a queued item
		time.Sleep(time.Second)
		met()
		q.Park("timed out", until, time.Minute)
		time.Sleep(time.Hour)
		assert.Equal(t, `0s add met, requested
0s take met, running
0s park met, running, parked, for 1h0m0s
0s done met, parked
0s add met, requested, parked
1s unpark met
1s park met, parked, for 1h0m0s
2s unpark met
2s park timed out, parked, for 1m0s
1m2s unpark timed out, requested, timed out`, s.String())
		q.ShutDown()
	})
}
