package reflector_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/internal/memnet"
	"github.com/informerkit/informerkit/internal/verify/scripted"
	"github.com/informerkit/informerkit/reflector"
)

// TestRapidFailuresAreSlowedDown drives a reflector against servers that never
// get better, and counts what reaches them: few requests at first, and then no
// more than two per shortest capped wait, 20s.
//
// Promise reflector/3
func TestRapidFailuresAreSlowedDown(t *testing.T) {
	oneEvent := func(w httpWriter, _ *httpRequest, _ int) { scripted.Send(w, "ADDED", scripted.ConfigMap("c", "11")) }
	retryAfter := func(w httpWriter, _ *httpRequest, _ int) {
		w.Header().Set("Retry-After", "1")
		scripted.WriteStatus(w, 429, metav1.StatusReasonTooManyRequests, "slow down")
	}
	error410 := func(w httpWriter, _ *httpRequest, _ int) {
		scripted.Send(w, "ERROR", string(scripted.StatusJSON(410, metav1.StatusReasonExpired, "too old")))
	}
	error500 := func(w httpWriter, _ *httpRequest, _ int) {
		scripted.Send(w, "ERROR", string(scripted.StatusJSON(500, metav1.StatusReasonInternalError, "etcd")))
	}
	bookmarkThenClose := func(w httpWriter, _ *httpRequest, _ int) {
		scripted.Send(w, "ADDED", scripted.ConfigMap("c", "11"))
		scripted.Send(w, "BOOKMARK", scripted.Bookmark("11", true))
	}
	ok := scripted.Lists("10", scripted.ConfigMap("a", "1"))
	for name, s := range map[string]*scripted.Server{
		"one event, then closed":           {List: ok, Watch: oneEvent},
		"closed at once":                   {List: ok, Watch: func(w httpWriter, _ *httpRequest, _ int) { scripted.Begin(w) }},
		"410 in the stream":                {List: ok, Watch: error410},
		"410 to the watch":                 {List: ok, Watch: scripted.Fails(410, metav1.StatusReasonExpired)},
		"410 to everything":                {List: scripted.Fails(410, metav1.StatusReasonExpired), Watch: scripted.Fails(410, metav1.StatusReasonExpired), WatchList: scripted.Fails(410, metav1.StatusReasonExpired)},
		"500 in the stream":                {List: ok, Watch: error500},
		"429 to the watch":                 {List: ok, Watch: scripted.Fails(429, metav1.StatusReasonTooManyRequests)},
		"429 with Retry-After":             {List: ok, Watch: retryAfter},
		"429 to the list":                  {List: scripted.Fails(429, metav1.StatusReasonTooManyRequests), WatchList: scripted.Fails(429, metav1.StatusReasonTooManyRequests)},
		"500 to everything":                {List: scripted.Fails(500, ""), WatchList: scripted.Fails(500, "")},
		"refused":                          {Refuse: memnet.Always},
		"404 to everything":                {List: scripted.Fails(404, ""), WatchList: scripted.Fails(404, "")},
		"403 to everything":                {List: scripted.Fails(403, ""), WatchList: scripted.Fails(403, "")},
		"no resourceVersion, then closed":  {List: scripted.Lists(""), Watch: oneEvent},
		"initial events, then closed":      {List: ok, WatchList: bookmarkThenClose, Watch: oneEvent},
		"initial events cut short":         {List: ok, WatchList: oneEvent, Watch: oneEvent},
		"410 in the initial events":        {List: ok, WatchList: error410, Watch: error410},
		"500 in the initial events":        {List: ok, WatchList: error500, Watch: error500},
		"refused initial events, then 410": {List: ok, WatchList: scripted.Fails(422, metav1.StatusReasonInvalid), Watch: error410},
	} {
		modes := []reflector.SyncMode{reflector.SyncList}
		if s.WatchList != nil || s.Refuse != 0 {
			modes = append(modes, reflector.SyncAuto)
		}
		for _, mode := range modes {
			t.Run(name+" "+string(mode), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					s := &scripted.Server{List: s.List, Watch: s.Watch, WatchList: s.WatchList, Refuse: s.Refuse}
					r := run(t, sourceOf(t, s), newRecorder(), reflector.Options{Sync: mode})
					count := func() int {
						if s.Refuse != 0 {
							return s.Dials()
						}
						return len(s.Requests())
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
					require.WithinDuration(t, s.Started(), since, 2*time.Second)
				})
			})
		}
	}
}

// Promise reflector/3
func TestBackoffForgetsOnlyAfterAHealthyPeriod(t *testing.T) {
	bubble(t, func(t *testing.T) {
		// Good lists in between do not make it healthy, nor do watches of 0.9s.
		s := &scripted.Server{List: scripted.Lists("10"), Watch: func(w httpWriter, r *httpRequest, _ int) {
			scripted.Begin(w)
			scripted.Linger(r, 900*time.Millisecond)
		}}
		r := run(t, sourceOf(t, s), newRecorder(), listMode)
		after(10 * time.Minute)
		require.Greater(t, r.Health().ConsecutiveFailures, 10)
	})
}

func TestAPolicyDecidesWhetherAndWhen(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var seen []reflector.Failure
		s := &scripted.Server{List: scripted.InTurn(scripted.Fails(500, ""), scripted.Fails(500, ""), scripted.Fails(404, ""), scripted.Fails(404, ""), scripted.Fails(403, ""))}
		r := run(t, sourceOf(t, s), newRecorder(), reflector.Options{
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
		for _, q := range s.Requests() {
			at = append(at, q.At.Round(time.Millisecond))
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
		s := &scripted.Server{List: scripted.Fails(500, "")}
		run(t, sourceOf(t, s), newRecorder(), reflector.Options{
			Sync:   reflector.SyncList,
			Policy: func(reflector.Failure) reflector.Decision { return reflector.RetryAfter(-1) },
		})
		after(time.Second)
		require.LessOrEqual(t, len(s.Requests()), 101)
	})
}

func TestRetryAfterMayBeADate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{List: scripted.InTurn(func(w httpWriter, _ *httpRequest, _ int) {
			w.Header().Set("Retry-After", time.Now().Add(20*time.Second).UTC().Format(http.TimeFormat))
			http.Error(w, "busy", 503)
		}, scripted.Lists("1")), Watch: scripted.Quiet}
		r := run(t, sourceOf(t, s), newRecorder(), listMode)
		after(19 * time.Second)
		require.False(t, r.Health().Synced)
		after(4 * time.Second)
		require.True(t, r.Health().Synced)
	})
}

func TestRetryAfterIsCapped(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{List: scripted.InTurn(func(w httpWriter, _ *httpRequest, _ int) {
			w.Header().Set("Retry-After", "99999999999")
			http.Error(w, "busy", 503)
		}, scripted.Lists("1")), Watch: scripted.Quiet}
		r := run(t, sourceOf(t, s), newRecorder(), listMode)
		after(6 * time.Minute)
		require.True(t, r.Health().Synced)
	})
}
