package reflector_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/reflector"
)

// TestRapidFailuresAreSlowedDown drives a reflector against servers that never
// get better, and counts what reaches them: few requests at first, and then no
// more than two per shortest capped wait, 20s.
//
// Promise reflector/3
func TestRapidFailuresAreSlowedDown(t *testing.T) {
	oneEvent := func(w httpWriter, _ *httpRequest, _ int) { send(w, "ADDED", cm("c", "11")) }
	retryAfter := func(w httpWriter, _ *httpRequest, _ int) {
		w.Header().Set("Retry-After", "1")
		status(w, 429, metav1.StatusReasonTooManyRequests, "slow down")
	}
	error410 := func(w httpWriter, _ *httpRequest, _ int) {
		send(w, "ERROR", string(statusJSON(410, metav1.StatusReasonExpired, "too old")))
	}
	error500 := func(w httpWriter, _ *httpRequest, _ int) {
		send(w, "ERROR", string(statusJSON(500, metav1.StatusReasonInternalError, "etcd")))
	}
	bookmarkThenClose := func(w httpWriter, _ *httpRequest, _ int) {
		send(w, "ADDED", cm("c", "11"))
		send(w, "BOOKMARK", bookmark("11", true))
	}
	ok := lists("10", cm("a", "1"))
	for name, s := range map[string]*scripted{
		"one event, then closed":           {list: ok, watch: oneEvent},
		"closed at once":                   {list: ok, watch: func(w httpWriter, _ *httpRequest, _ int) { begin(w) }},
		"410 in the stream":                {list: ok, watch: error410},
		"410 to the watch":                 {list: ok, watch: fails(410, metav1.StatusReasonExpired)},
		"410 to everything":                {list: fails(410, metav1.StatusReasonExpired), watch: fails(410, metav1.StatusReasonExpired), watchList: fails(410, metav1.StatusReasonExpired)},
		"500 in the stream":                {list: ok, watch: error500},
		"429 to the watch":                 {list: ok, watch: fails(429, metav1.StatusReasonTooManyRequests)},
		"429 with Retry-After":             {list: ok, watch: retryAfter},
		"429 to the list":                  {list: fails(429, metav1.StatusReasonTooManyRequests), watchList: fails(429, metav1.StatusReasonTooManyRequests)},
		"500 to everything":                {list: fails(500, ""), watchList: fails(500, "")},
		"refused":                          {refuse: 1 << 30},
		"404 to everything":                {list: fails(404, ""), watchList: fails(404, "")},
		"403 to everything":                {list: fails(403, ""), watchList: fails(403, "")},
		"no resourceVersion, then closed":  {list: lists(""), watch: oneEvent},
		"initial events, then closed":      {list: ok, watchList: bookmarkThenClose, watch: oneEvent},
		"initial events cut short":         {list: ok, watchList: oneEvent, watch: oneEvent},
		"410 in the initial events":        {list: ok, watchList: error410, watch: error410},
		"500 in the initial events":        {list: ok, watchList: error500, watch: error500},
		"refused initial events, then 410": {list: ok, watchList: fails(422, metav1.StatusReasonInvalid), watch: error410},
	} {
		modes := []reflector.SyncMode{reflector.SyncList}
		if s.watchList != nil || s.refuse > 0 {
			modes = append(modes, reflector.SyncAuto)
		}
		for _, mode := range modes {
			t.Run(name+" "+string(mode), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					s := &scripted{list: s.list, watch: s.watch, watchList: s.watchList, refuse: s.refuse}
					r := run(t, s.source(t), newRecorder(), reflector.Options{Sync: mode})
					count := func() int {
						if s.refuse > 0 {
							s.mu.Lock()
							defer s.mu.Unlock()
							return len(s.dials)
						}
						return len(s.asked())
					}
					after(10 * time.Second)
					require.LessOrEqual(t, count(), 10)
					after(50 * time.Second)
					before := count()
					after(10 * time.Minute)
					rate := float64(count()-before) / 600
					require.LessOrEqual(t, rate, 2/20.0+0.01, "requests per second")
					require.GreaterOrEqual(t, rate, 1/31.0, "requests per second")
					require.Greater(t, r.Health().ConsecutiveFailures, 5)
					_, since, degraded := r.Health().Degraded()
					require.True(t, degraded)
					require.WithinDuration(t, s.start, since, 2*time.Second)
				})
			})
		}
	}
}

// Promise reflector/3
func TestBackoffForgetsOnlyAfterAHealthyPeriod(t *testing.T) {
	bubble(t, func(t *testing.T) {
		// Good lists in between do not make it healthy, nor do watches of 9s.
		s := &scripted{list: lists("10"), watch: func(w httpWriter, r *httpRequest, _ int) {
			begin(w)
			linger(r, 9*time.Second)
		}}
		r := run(t, s.source(t), newRecorder(), listMode)
		after(10 * time.Minute)
		require.Greater(t, r.Health().ConsecutiveFailures, 10)
	})
}

func TestAPolicyDecidesWhetherAndWhen(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var seen []reflector.Failure
		s := &scripted{list: inTurn(fails(500, ""), fails(500, ""), fails(404, ""), fails(404, ""), fails(403, ""))}
		r := run(t, s.source(t), newRecorder(), reflector.Options{
			Sync: reflector.SyncList,
			Policy: func(f reflector.Failure) reflector.Decision {
				seen = append(seen, f)
				switch f.Class {
				case reflector.ClassNotFound:
					return reflector.RetryAfter(time.Minute)
				case reflector.ClassForbidden:
					return reflector.Stop()
				}
				return reflector.RetryAfter(time.Duration(f.Consecutive) * time.Second)
			},
		})
		err := <-r.done
		require.Equal(t, reflector.ClassForbidden, reflector.Classify(err))
		var at []time.Duration
		for _, q := range s.asked() {
			at = append(at, q.at.Round(time.Millisecond))
		}
		require.Equal(t, []time.Duration{0, time.Second, 3 * time.Second, 63 * time.Second, 123 * time.Second}, at)
		require.Len(t, seen, 5)
		require.Equal(t, reflector.OpList, seen[0].Op)
		require.Equal(t, reflector.StateStopped, r.Health().State)
		require.Error(t, r.Health().LastError)
	})
}

func TestAPolicyCannotSpin(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted{list: fails(500, "")}
		run(t, s.source(t), newRecorder(), reflector.Options{
			Sync:   reflector.SyncList,
			Policy: func(reflector.Failure) reflector.Decision { return reflector.RetryAfter(-1) },
		})
		after(time.Second)
		require.LessOrEqual(t, len(s.asked()), 101)
	})
}

func TestRetryAfterMayBeADate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted{list: inTurn(func(w httpWriter, _ *httpRequest, _ int) {
			w.Header().Set("Retry-After", time.Now().Add(20*time.Second).UTC().Format(http.TimeFormat))
			http.Error(w, "busy", 503)
		}, lists("1")), watch: quiet}
		r := run(t, s.source(t), newRecorder(), listMode)
		after(19 * time.Second)
		require.False(t, r.Health().Synced)
		after(4 * time.Second)
		require.True(t, r.Health().Synced)
	})
}

func TestRetryAfterIsCapped(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted{list: inTurn(func(w httpWriter, _ *httpRequest, _ int) {
			w.Header().Set("Retry-After", "99999999999")
			http.Error(w, "busy", 503)
		}, lists("1")), watch: quiet}
		r := run(t, s.source(t), newRecorder(), listMode)
		after(6 * time.Minute)
		require.True(t, r.Health().Synced)
	})
}
