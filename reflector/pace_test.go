package reflector_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/internal/verify/scripted"
	"github.com/informerkit/informerkit/reflector"
)

// further sends an event that is newer than what the watch began at, and lets
// the watch run for d.
func further(d time.Duration, end func()) scripted.Answer {
	return func(w httpWriter, r *httpRequest, _ int) {
		rv, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
		scripted.Send(w, "MODIFIED", scripted.ConfigMap("a", fmt.Sprint(rv+1)))
		if scripted.Linger(r, d) {
			end()
		}
	}
}

func nothing() {}

// gaps returns the times between the end of each watch of length d and the next
// request.
func gaps(asked []scripted.Request, d time.Duration) []time.Duration {
	var out []time.Duration
	for i, q := range asked[:len(asked)-1] {
		if q.Verb == "watch" {
			out = append(out, asked[i+1].At-q.At-d)
		}
	}
	return out
}

// requireBound checks the promise about requests over every stretch of time: so many may be
// one more, which are charged when they are sent, and the watches that free says ran for a
// second or more are bounded only by the window.
func requireBound(t *testing.T, asked []scripted.Request, ahead int, free ...time.Duration) {
	unpaid := map[time.Duration]int{}
	for _, at := range free {
		unpaid[at]++
	}
	for i := range asked {
		paid, last := 0, time.Duration(-1)
		for j := i; j < len(asked); j++ {
			stretch := asked[j].At - asked[i].At
			if paid++; asked[j].At != last {
				paid, last = paid-unpaid[asked[j].At], asked[j].At
			}
			require.LessOrEqual(t, float64(paid), float64(9+ahead)+stretch.Seconds()/10+0.01, "requests %d to %d in %v", i, j, stretch)
			if stretch < 10*time.Second {
				require.LessOrEqual(t, j-i+1, 10+ahead, "requests %d to %d in %v", i, j, stretch)
			}
		}
	}
}

func TestAWatchThatDeliversResumesAsLongAsTheAllowanceLasts(t *testing.T) {
	for name, end := range map[string]func(){"closed": nothing, "cut": scripted.Cut} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := &scripted.Server{List: scripted.Lists("10"), Watch: further(800*time.Millisecond, end)}
				r := run(t, sourceOf(t, s), newRecorder(), listMode)
				after(30 * time.Minute)
				waits := gaps(s.Requests(), 800*time.Millisecond)
				for i, gap := range waits {
					switch {
					case i < 3: // more than half of the allowance is left
						require.Zero(t, gap)
					case i < 6: // some is left
						require.LessOrEqual(t, gap, time.Second)
					default: // 10s per request
						require.LessOrEqual(t, gap, 10*time.Second)
					}
				}
				require.InDelta(t, 187, len(waits), 2, "all that is earned is spent")
				requireBound(t, s.Requests(), 0)
				reason, since, degraded := r.Health().Degraded()
				require.True(t, degraded, "the trouble is visible all the same")
				require.Equal(t, reflector.ClassClosed, map[bool]reflector.ErrorClass{true: reason, false: reflector.ClassClosed}[name == "closed"])
				require.WithinDuration(t, s.Started().Add(800*time.Millisecond), since, time.Second)
			})
		})
	}
}

// A proxy, or the timeout of a client, ends each watch after some seconds.
//
// Promise reflector/3
func TestAWatchThatEndsAfterASecondIsResumedAtOnceAndIsNoFailure(t *testing.T) {
	quiet := func(d time.Duration, end func()) scripted.Answer {
		return func(w httpWriter, r *httpRequest, _ int) {
			scripted.Begin(w)
			if scripted.Linger(r, d) {
				end()
			}
		}
	}
	for how, end := range map[string]func(){"closed": nothing, "cut": scripted.Cut} {
		for _, d := range []time.Duration{time.Second, 5 * time.Second, 9900 * time.Millisecond} {
			for what, watch := range map[string]scripted.Answer{"quiet": quiet(d, end), "with events": further(d, end)} {
				t.Run(fmt.Sprint(how, " after ", d, " ", what), func(t *testing.T) {
					bubble(t, func(t *testing.T) {
						first := true // the trouble before is forgotten in the usual time
						s := &scripted.Server{Watch: watch, List: func(w httpWriter, r *httpRequest, n int) {
							if first {
								first = false
								scripted.Fails(500, "")(w, r, n)
								return
							}
							scripted.Lists("10")(w, r, n)
						}}
						r := run(t, sourceOf(t, s), newRecorder(), listMode)
						after(3 * time.Minute)
						asked := s.Requests()
						var watches []time.Duration
						for _, q := range asked {
							if q.Verb == "watch" {
								watches = append(watches, q.At)
							}
						}
						for i := 1; i < len(watches); i++ {
							gap := watches[i] - watches[i-1] - d
							if d >= 2*time.Second {
								require.Zero(t, gap, "watch %d", i)
							} else {
								require.LessOrEqual(t, gap, 2*time.Second, "watch %d", i)
							}
						}
						requireBound(t, asked, 0, watches...)
						_, _, degraded := r.Health().Degraded()
						require.False(t, degraded)
						require.Zero(t, r.Health().ConsecutiveFailures)
						if how == "cut" {
							require.Equal(t, reflector.ClassNetwork, r.Health().LastErrorClass, "it is reported")
						}
					})
				})
			}
		}
	}
}

func TestAnExpiredVersionAfterACutCostsOneWait(t *testing.T) {
	inStream := func(w httpWriter, _ *httpRequest, _ int) {
		scripted.Send(w, "ERROR", string(scripted.StatusJSON(410, metav1.StatusReasonExpired, "too old")))
	}
	for name, expired := range map[string]scripted.Answer{"answer": scripted.Fails(410, metav1.StatusReasonExpired), "event": inStream} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := &scripted.Server{List: scripted.Lists("10"), Watch: func(w httpWriter, r *httpRequest, n int) {
					if n%2 == 0 {
						expired(w, r, n)
					} else {
						further(20*time.Second, scripted.Cut)(w, r, n)
					}
				}}
				run(t, sourceOf(t, s), newRecorder(), listMode)
				after(85 * time.Second)
				asked := s.Requests()
				require.Regexp(t, `^list@0 watch@10 watch@11 list@11 watch@10 watch@11 list@11 watch@10 watch@11 list@11 watch@10`, s.Verbs())
				for i := 2; i+2 < len(asked); i += 3 {
					require.Equal(t, 20*time.Second, asked[i].At-asked[i-1].At, "the watch resumes at once")
					wait := asked[i+1].At - asked[i].At
					require.GreaterOrEqual(t, wait, 800*time.Millisecond)
					require.LessOrEqual(t, wait, 1200*time.Millisecond, "it does not grow")
					require.Equal(t, asked[i+1].At, asked[i+2].At)
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
				answers := []scripted.Answer{
					scripted.Lists("10"), scripted.Lists("50", scripted.ConfigMap("a", "1")), scripted.Fails(410, ""), scripted.Fails(500, ""), scripted.Fails(429, ""), scripted.Fails(403, ""), scripted.Fails(404, ""),
					further(0, nothing), further(0, scripted.Cut), further(11*time.Second, scripted.Cut), further(11*time.Second, nothing), further(4*time.Second, scripted.Cut),
					inStream(410, metav1.StatusReasonExpired), inStream(500, ""), scripted.Fails(400, ""), func(httpWriter, *httpRequest, int) { scripted.Cut() },
					initial(func(w httpWriter, _ *httpRequest) { scripted.Send(w, "BOOKMARK", scripted.Bookmark("99", true)) }, scripted.ConfigMap("a", "3")),
				}
				// Each server has a few of them only, for the same to come again.
				answers = []scripted.Answer{answers[rng.IntN(len(answers))], answers[rng.IntN(len(answers))], answers[rng.IntN(len(answers))]}
				var free []time.Duration // when watches began that ran for a second or more
				begun := time.Now()
				any := func(w httpWriter, r *httpRequest, n int) {
					at := time.Now()
					defer func() {
						if r.URL.Query().Has("watch") && time.Since(at) >= time.Second {
							free = append(free, at.Sub(begun))
						}
					}()
					answers[rng.IntN(len(answers))](w, r, n)
				}
				s := &scripted.Server{List: any, WatchList: any, Watch: any}
				run(t, sourceOf(t, s), newRecorder(), reflector.Options{})
				after(20 * time.Minute)
				requireBound(t, s.Requests(), 1, free...)
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
		s := &scripted.Server{List: scripted.Lists("10"), Watch: func(w httpWriter, r *httpRequest, n int) {
			if n%2 == 1 {
				scripted.Cut()
			}
			further(0, nothing)(w, r, n)
		}}
		r := run(t, sourceOf(t, s), newRecorder(), listMode)
		after(10 * time.Minute)
		asked := s.Requests()
		require.Regexp(t, `^list@0 watch@10 watch@10 watch@11 watch@11 watch@12 `, s.Verbs())
		requireBound(t, asked, 1)
		require.Greater(t, len(asked), 60, "all that is earned is spent")
		require.GreaterOrEqual(t, r.Health().Watches, (len(asked)-1)/2, "two requests each at most")
	})
}

// The same for lists.
//
// Promise reflector/3
func TestListsThatTheTransportRepeatsAreCharged(t *testing.T) {
	bubble(t, func(t *testing.T) {
		list := scripted.Lists("10")
		s := &scripted.Server{List: func(w httpWriter, r *httpRequest, n int) {
			if n%2 == 0 { // on a connection that was used before
				scripted.Cut()
			}
			list(w, r, n)
		}, Watch: scripted.Fails(410, metav1.StatusReasonExpired)}
		run(t, sourceOf(t, s), newRecorder(), listMode)
		after(30 * time.Minute)
		asked := s.Requests()
		require.Regexp(t, `^list@0 watch@10 list@\S* list@\S* watch@10 list@`, s.Verbs())
		requireBound(t, asked, 1)
		require.Greater(t, len(asked), 100, "all that is earned is spent")
	})
}

func TestRetryAfterDoesNotGrow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{List: func(w httpWriter, _ *httpRequest, n int) {
			if n > 4 {
				scripted.WriteList(w, "10", "")
				return
			}
			w.Header().Set("Retry-After", "2")
			scripted.WriteStatus(w, 429, metav1.StatusReasonTooManyRequests, "slow down")
		}, Watch: scripted.Quiet}
		run(t, sourceOf(t, s), newRecorder(), listMode)
		after(time.Minute)
		asked := s.Requests()
		require.Len(t, asked, 6)
		for i := range 4 {
			wait := asked[i+1].At - asked[i].At
			require.GreaterOrEqual(t, wait, 2*time.Second)
			require.LessOrEqual(t, wait, 2200*time.Millisecond)
		}
	})
}

func TestAResourceThatAppearsIsNoFailingServer(t *testing.T) {
	initializing := func(w httpWriter, _ *httpRequest, _ int) {
		w.Header().Set("Retry-After", "1")
		scripted.WriteStatus(w, 429, metav1.StatusReasonTooManyRequests, "storage is (re)initializing")
	}
	for name, c := range map[string]struct {
		then   scripted.Answer
		policy func(reflector.Failure) reflector.Decision
		most   time.Duration
	}{
		"default": {then: scripted.Fails(500, ""), most: 1200 * time.Millisecond},
		"at a pace of its own": {then: initializing, most: 1100 * time.Millisecond, policy: func(f reflector.Failure) reflector.Decision {
			if f.Class == reflector.ClassNotFound {
				return reflector.RetryAfter(2 * time.Second)
			}
			return reflector.Retry()
		}},
		"at a pace of its own, failing": {then: scripted.Fails(500, ""), most: 1200 * time.Millisecond, policy: func(f reflector.Failure) reflector.Decision {
			if f.Class == reflector.ClassNotFound {
				return reflector.RetryAfter(2 * time.Second)
			}
			return reflector.Retry()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				const polls = 20
				s := &scripted.Server{List: func(w httpWriter, r *httpRequest, n int) {
					switch {
					case n <= polls:
						scripted.Fails(404, "")(w, r, n)
					case n == polls+1:
						c.then(w, r, n)
					default:
						scripted.WriteList(w, "10", "")
					}
				}, Watch: scripted.Quiet}
				r := run(t, sourceOf(t, s), newRecorder(), reflector.Options{Sync: reflector.SyncList, Policy: c.policy})
				after(15 * time.Minute)
				require.True(t, r.Health().Synced)
				asked := s.Requests()
				require.LessOrEqual(t, asked[polls+1].At-asked[polls].At, c.most)
				require.Equal(t, asked[polls+1].At, asked[polls+2].At, "the watch follows at once")
				if c.policy == nil {
					require.GreaterOrEqual(t, asked[polls].At-asked[polls-1].At, 20*time.Second, "polls become rare")
				}
			})
		})
	}
}

// A policy that waits 100ms is not slowed down by the allowance, and does not
// leave an empty one behind.
func TestAPaceOfYourOwnIsKept(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &scripted.Server{List: func(w httpWriter, r *httpRequest, n int) {
			if n <= 100 {
				scripted.Fails(404, "")(w, r, n)
				return
			}
			scripted.WriteList(w, "10", "")
		}, Watch: further(8*time.Second, nothing)}
		run(t, sourceOf(t, s), newRecorder(), reflector.Options{Sync: reflector.SyncList, Policy: func(f reflector.Failure) reflector.Decision {
			if f.Class == reflector.ClassNotFound {
				return reflector.RetryAfter(100 * time.Millisecond)
			}
			return reflector.Retry()
		}})
		after(time.Minute)
		asked := s.Requests()
		require.Equal(t, 10*time.Second, asked[100].At)
		for _, gap := range gaps(asked, 8*time.Second) {
			require.Zero(t, gap)
		}
	})
}
