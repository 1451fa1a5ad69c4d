package reflector_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/reflector"
)

// further sends an event that is newer than what the watch began at, and lets
// the watch run for d.
func further(d time.Duration, end func()) answer {
	return func(w httpWriter, r *httpRequest, _ int) {
		rv, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
		send(w, "MODIFIED", cm("a", fmt.Sprint(rv+1)))
		if linger(r, d) {
			end()
		}
	}
}

func nothing() {}

// gaps returns the times between the end of each watch of length d and the next
// request.
func gaps(asked []request, d time.Duration) []time.Duration {
	var out []time.Duration
	for i, q := range asked[:len(asked)-1] {
		if q.verb == "watch" {
			out = append(out, asked[i+1].at-q.at-d)
		}
	}
	return out
}

// requireBound checks the promise about requests over every stretch of time, with
// so many requests that are charged only after they have been sent.
func requireBound(t *testing.T, asked []request, ahead int) {
	for i := range asked {
		for j := i; j < len(asked); j++ {
			stretch := asked[j].at - asked[i].at
			require.LessOrEqual(t, float64(j-i+1), float64(9+ahead)+stretch.Seconds()/10+0.01, "requests %d to %d in %v", i, j, stretch)
		}
	}
}

func TestAWatchThatDeliversResumesAsLongAsTheAllowanceLasts(t *testing.T) {
	for name, end := range map[string]func(){"closed": nothing, "cut": cut} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := &scripted{list: lists("10"), watch: further(8*time.Second, end)}
				r := run(t, s.source(t), newRecorder(), listMode)
				after(30 * time.Minute)
				waits := gaps(s.asked(), 8*time.Second)
				for i, gap := range waits {
					switch {
					case i < 10: // more than half of the allowance is left
						require.Zero(t, gap)
					case i < 40: // six minutes: some is left
						require.LessOrEqual(t, gap, time.Second)
					default: // 10s per request
						require.LessOrEqual(t, gap, 2*time.Second+time.Millisecond)
					}
				}
				require.InDelta(t, 187, len(waits), 2, "all that is earned is spent")
				requireBound(t, s.asked(), 0)
				reason, since, degraded := r.Health().Degraded()
				require.True(t, degraded, "the trouble is visible all the same")
				require.Equal(t, reflector.ClassClosed, map[bool]reflector.ErrorClass{true: reason, false: reflector.ClassClosed}[name == "closed"])
				require.WithinDuration(t, s.start.Add(8*time.Second), since, time.Second)
			})
		})
	}
}

func TestAnExpiredVersionAfterACutCostsOneWait(t *testing.T) {
	inStream := func(w httpWriter, _ *httpRequest, _ int) {
		send(w, "ERROR", string(statusJSON(410, metav1.StatusReasonExpired, "too old")))
	}
	for name, expired := range map[string]answer{"answer": fails(410, metav1.StatusReasonExpired), "event": inStream} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := &scripted{list: lists("10"), watch: func(w httpWriter, r *httpRequest, n int) {
					if n%2 == 0 {
						expired(w, r, n)
					} else {
						further(20*time.Second, cut)(w, r, n)
					}
				}}
				run(t, s.source(t), newRecorder(), listMode)
				after(85 * time.Second)
				asked := s.asked()
				require.Regexp(t, `^list@0 watch@10 watch@11 list@11 watch@10 watch@11 list@11 watch@10 watch@11 list@11 watch@10`, s.verbs())
				for i := 2; i+2 < len(asked); i += 3 {
					require.Equal(t, 20*time.Second, asked[i].at-asked[i-1].at, "the watch resumes at once")
					wait := asked[i+1].at - asked[i].at
					require.GreaterOrEqual(t, wait, 800*time.Millisecond)
					require.LessOrEqual(t, wait, 1200*time.Millisecond, "it does not grow")
					require.Equal(t, asked[i+1].at, asked[i+2].at)
				}
				requireBound(t, asked, 0)
			})
		})
	}
}

// TestTheAllowanceBoundsAnyServer drives reflectors against servers that do
// anything at random, as fast as they can: among all answers those that lead to
// another request at once.
//
// Promise reflector/3
func TestTheAllowanceBoundsAnyServer(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, 9))
				answers := []answer{
					lists("10"), lists("50", cm("a", "1")), fails(410, ""), fails(500, ""), fails(429, ""), fails(403, ""), fails(404, ""),
					further(0, nothing), further(0, cut), further(11*time.Second, cut), further(11*time.Second, nothing), further(4*time.Second, cut),
					inStream(410, metav1.StatusReasonExpired), inStream(500, ""), fails(400, ""), func(httpWriter, *httpRequest, int) { cut() },
					initial(func(w httpWriter, _ *httpRequest) { send(w, "BOOKMARK", bookmark("99", true)) }, cm("a", "3")),
				}
				// Each server has a few of them only, for the same to come again.
				answers = []answer{answers[rng.IntN(len(answers))], answers[rng.IntN(len(answers))], answers[rng.IntN(len(answers))]}
				any := func(w httpWriter, r *httpRequest, n int) { answers[rng.IntN(len(answers))](w, r, n) }
				s := &scripted{list: any, watchList: any, watch: any}
				run(t, s.source(t), newRecorder(), reflector.Options{})
				after(20 * time.Minute)
				requireBound(t, s.asked(), 1)
			})
		})
	}
}

// A GET on a connection that was kept, and is closed without an answer, is repeated
// by net/http on a new one.
//
// Promise reflector/3
func TestRequestsThatTheTransportRepeatsAreCharged(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted{list: lists("10"), watch: func(w httpWriter, r *httpRequest, n int) {
			if n%2 == 1 {
				cut()
			}
			further(0, nothing)(w, r, n)
		}}
		r := run(t, s.source(t), newRecorder(), listMode)
		after(10 * time.Minute)
		asked := s.asked()
		require.Regexp(t, `^list@0 watch@10 watch@10 watch@11 watch@11 watch@12 `, s.verbs())
		requireBound(t, asked, 1)
		require.Greater(t, len(asked), 60, "all that is earned is spent")
		require.EqualValues(t, (len(asked)-1)/2, r.Health().Watches, "two requests each")
	})
}

func TestRetryAfterDoesNotGrow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted{list: func(w httpWriter, _ *httpRequest, n int) {
			if n > 4 {
				writeList(w, "10", "")
				return
			}
			w.Header().Set("Retry-After", "2")
			status(w, 429, metav1.StatusReasonTooManyRequests, "slow down")
		}, watch: quiet}
		run(t, s.source(t), newRecorder(), listMode)
		after(time.Minute)
		asked := s.asked()
		require.Len(t, asked, 6)
		for i := range 4 {
			wait := asked[i+1].at - asked[i].at
			require.GreaterOrEqual(t, wait, 2*time.Second)
			require.LessOrEqual(t, wait, 2200*time.Millisecond)
		}
	})
}

func TestAResourceThatAppearsIsNoFailingServer(t *testing.T) {
	initializing := func(w httpWriter, _ *httpRequest, _ int) {
		w.Header().Set("Retry-After", "1")
		status(w, 429, metav1.StatusReasonTooManyRequests, "storage is (re)initializing")
	}
	for name, c := range map[string]struct {
		then   answer
		policy func(reflector.Failure) reflector.Decision
		most   time.Duration
	}{
		"default": {then: fails(500, ""), most: 1200 * time.Millisecond},
		"at a pace of its own": {then: initializing, most: 1100 * time.Millisecond, policy: func(f reflector.Failure) reflector.Decision {
			if f.Class == reflector.ClassNotFound {
				return reflector.RetryAfter(2 * time.Second)
			}
			return reflector.Retry()
		}},
		"at a pace of its own, failing": {then: fails(500, ""), most: 1200 * time.Millisecond, policy: func(f reflector.Failure) reflector.Decision {
			if f.Class == reflector.ClassNotFound {
				return reflector.RetryAfter(2 * time.Second)
			}
			return reflector.Retry()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				const polls = 20
				s := &scripted{list: func(w httpWriter, r *httpRequest, n int) {
					switch {
					case n <= polls:
						fails(404, "")(w, r, n)
					case n == polls+1:
						c.then(w, r, n)
					default:
						writeList(w, "10", "")
					}
				}, watch: quiet}
				r := run(t, s.source(t), newRecorder(), reflector.Options{Sync: reflector.SyncList, Policy: c.policy})
				after(15 * time.Minute)
				require.True(t, r.Health().Synced)
				asked := s.asked()
				require.LessOrEqual(t, asked[polls+1].at-asked[polls].at, c.most)
				require.Equal(t, asked[polls+1].at, asked[polls+2].at, "the watch follows at once")
				if c.policy == nil {
					require.GreaterOrEqual(t, asked[polls].at-asked[polls-1].at, 20*time.Second, "polls become rare")
				}
			})
		})
	}
}

// A policy that waits 100ms is not slowed down by the allowance, and does not
// leave an empty one behind.
func TestAPaceOfYourOwnIsKept(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted{list: func(w httpWriter, r *httpRequest, n int) {
			if n <= 100 {
				fails(404, "")(w, r, n)
				return
			}
			writeList(w, "10", "")
		}, watch: further(8*time.Second, nothing)}
		run(t, s.source(t), newRecorder(), reflector.Options{Sync: reflector.SyncList, Policy: func(f reflector.Failure) reflector.Decision {
			if f.Class == reflector.ClassNotFound {
				return reflector.RetryAfter(100 * time.Millisecond)
			}
			return reflector.Retry()
		}})
		after(time.Minute)
		asked := s.asked()
		require.Equal(t, 10*time.Second, asked[100].at)
		for _, gap := range gaps(asked, 8*time.Second) {
			require.Zero(t, gap)
		}
	})
}
