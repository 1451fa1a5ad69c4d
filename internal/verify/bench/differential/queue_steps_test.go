package differential

import (
	"fmt"
	"strings"
	"time"

	"golang.org/x/time/rate"
	theirs "k8s.io/client-go/util/workqueue"

	ours "github.com/informerkit/informerkit/workqueue"
)

// queueStep is one operation on both queues. Time is in milliseconds.
type queueStep struct {
	do   string
	item string
	ms   int
}

func (s queueStep) String() string {
	text := strings.TrimSpace(s.do + " " + s.item)
	if s.do == "add after" || s.do == "wait" {
		text += fmt.Sprintf(" %dms", s.ms)
	}
	return text
}

// queueItems are the items of all histories; few, so that they meet each other.
const queueItems = "abcde"

// queueSteps returns 120 steps. Some histories contain a shutdown; the remaining
// steps still run after it.
func queueSteps(seed uint64) []queueStep {
	r := random(seed)
	verbs := []string{
		"add", "add", "add", "get", "get", "get", "get", "done", "done", "done",
		"add after", "add after", "add after", "rate limited", "rate limited", "forget", "wait", "wait", "wait", "stray done",
	}
	steps := make([]queueStep, 120)
	for i := range steps {
		s := queueStep{do: verbs[r.IntN(len(verbs))]}
		switch s.do {
		case "get":
		case "wait":
			s.ms = r.IntN(300)
		default:
			s.item = string(queueItems[r.IntN(len(queueItems))])
			s.ms = r.IntN(400) - 20 // now and then in the past
		}
		if s.do != "wait" && s.do != "add after" {
			s.ms = 0
		}
		steps[i] = s
	}
	if r.IntN(3) == 0 {
		steps[20+r.IntN(100)] = queueStep{do: "shut down"}
	}
	return steps
}

// limiters returns the same rate limiter twice, ours and theirs; seed selects
// which.
func limiters(seed uint64) (ours.RateLimiter[string], theirs.TypedRateLimiter[string]) {
	const base, most = 3 * time.Millisecond, 200 * time.Millisecond
	exponential := ours.Exponential[string](ours.ExponentialOptions{Base: base, Max: most})
	theirExponential := theirs.NewTypedItemExponentialFailureRateLimiter[string](base, most)
	fastSlow := ours.FastSlow[string](7*time.Millisecond, most, 2)
	theirFastSlow := theirs.NewTypedItemFastSlowRateLimiter[string](7*time.Millisecond, most, 2)
	switch seed % 5 {
	case 0:
		return exponential, theirExponential
	case 1:
		return fastSlow, theirFastSlow
	case 2:
		return ours.Bucket[string](rate.NewLimiter(20, 2)), &theirs.TypedBucketRateLimiter[string]{Limiter: rate.NewLimiter(20, 2)}
	case 3:
		return ours.WithMaxWait(exponential, 40*time.Millisecond), theirs.NewTypedWithMaxWaitRateLimiter(theirExponential, 40*time.Millisecond)
	default:
		return ours.MaxOf(exponential, fastSlow), theirs.NewTypedMaxOfRateLimiter(theirExponential, theirFastSlow)
	}
}

// tap keeps the delay that a limiter demanded last.
type tap[L interface{ When(string) time.Duration }] struct {
	limiter L
	last    time.Duration
}

func (l *tap[L]) When(item string) time.Duration {
	l.last = l.limiter.When(item)
	return l.last
}

// ourTap and theirTap are limiters with a tap.
type (
	ourTap struct {
		ours.RateLimiter[string]
		*tap[ours.RateLimiter[string]]
	}
	theirTap struct {
		theirs.TypedRateLimiter[string]
		*tap[theirs.TypedRateLimiter[string]]
	}
)

func (l ourTap) When(item string) time.Duration   { return l.tap.When(item) }
func (l theirTap) When(item string) time.Duration { return l.tap.When(item) }
