package history

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/informerkit/informerkit/workqueue"
)

// Failure describes an item whose last processing by [workqueue.ProcessWith] failed.
type Failure struct {
	Key Key
	// Attempts is how many times in a row it has failed.
	Attempts int
	// Err is the last error, as the function returned it or, for a captured panic, a
	// [workqueue.PanicError]. Time is when that was.
	Err  error
	Time time.Time
	// Action is [workqueue.Retried], or [workqueue.Dropped] for an item that does not come
	// again by itself.
	Action workqueue.Action
	// NextAttempt is when the delay of the next attempt ends. It is zero if the item is
	// not delayed: it is queued, running or parked, or was dropped.
	NextAttempt time.Time
}

// ThroughputPeriod is the length of each period of [Recorder.Throughput].
const ThroughputPeriod = 10 * time.Second

const (
	// throughputPeriods is how many of them are kept: five minutes.
	throughputPeriods = 30
	// maxFailing is for how many items of a queue the last failure is kept. An error may
	// refer to much memory.
	maxFailing = 256
)

// queueLog is what a recorder knows about a queue as a whole.
type queueLog struct {
	start time.Time

	mu sync.Mutex
	// failing has the last failures of items that have not succeeded since, in no order: a
	// failure is rare, and finding the oldest of so few cheap.
	failing map[Key]*Failure
	period  int64 // the latest one, in periods since the start
	done    [throughputPeriods]int
}

func (r *Recorder) newQueueLog(name string) *queueLog {
	log := &queueLog{start: time.Now(), failing: map[Key]*Failure{}}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queues[name] = log
	return log
}

// queueLog returns what is known about a queue, with its lock held; nil if there is none.
func (r *Recorder) queueLog(name string) *queueLog {
	r.mu.Lock()
	defer r.mu.Unlock()
	log := r.queues[name]
	if log != nil {
		log.mu.Lock()
	}
	return log
}

// observeLog takes a step into account.
func observeLog[T comparable](l *queueLog, key Key, o *workqueue.Observation[T]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch f := l.failing[key]; {
	case o.Step == workqueue.StepDone:
		l.advance(o.Time)
		l.done[l.period%throughputPeriods]++
	case o.Step == workqueue.StepOutcome:
		l.outcome(key, Failure{Key: key, Attempts: o.Attempt, Err: o.Err, Time: o.Time, Action: o.Action})
	case f == nil:
	case o.Step == workqueue.StepRetry && !o.Requested:
		f.NextAttempt = o.Time.Add(o.Duration)
	case o.Requested:
		f.NextAttempt = time.Time{}
	}
}

// outcome notes a failure, or forgets that of an item that has succeeded. The oldest one
// makes room if there are too many.
func (l *queueLog) outcome(key Key, f Failure) {
	// An interrupted one may have failed only because of the stop.
	if f.Action != workqueue.Retried && f.Action != workqueue.Dropped {
		delete(l.failing, key)
		return
	}
	if l.failing[key] == nil && len(l.failing) >= maxFailing {
		oldest := &f
		for _, other := range l.failing {
			if other.Time.Before(oldest.Time) {
				oldest = other
			}
		}
		delete(l.failing, oldest.Key)
	}
	l.failing[key] = &f
}

// advance makes the period of now the latest one, unless a later one is.
func (l *queueLog) advance(now time.Time) {
	period := int64(now.Sub(l.start) / ThroughputPeriod)
	for next := max(l.period+1, period-throughputPeriods+1); next <= period; next++ {
		l.done[next%throughputPeriods] = 0
	}
	l.period = max(l.period, period)
}

// Failures returns up to limit items of a queue whose last processing failed, those with the
// most attempts first, and how many there are. The last 256 are kept.
func (r *Recorder) Failures(queue string, limit int) (some []Failure, all int) {
	l := r.queueLog(queue)
	if l == nil {
		return nil, 0
	}
	for _, f := range l.failing {
		some = append(some, *f)
	}
	l.mu.Unlock()
	slices.SortFunc(some, func(a, b Failure) int {
		return cmp.Or(cmp.Compare(b.Attempts, a.Attempts), b.Time.Compare(a.Time))
	})
	return some[:min(max(0, limit), len(some))], len(some)
}

// Failure returns the last failure of an item of a queue, by the text of its key. It returns
// false if it has succeeded since, or is not among the last 256.
func (r *Recorder) Failure(queue, text string) (Failure, bool) {
	l := r.queueLog(queue)
	if l == nil {
		return Failure{}, false
	}
	defer l.mu.Unlock()
	f := l.failing[ParseKey(text)]
	if f == nil {
		return Failure{}, false
	}
	return *f, true
}

// Throughput returns how many items of a queue were done in each of the last 30 periods of
// [ThroughputPeriod], the oldest first. The last one is not over yet. It is nil if the
// recorder does not know the queue.
func (r *Recorder) Throughput(queue string) []int {
	l := r.queueLog(queue)
	if l == nil {
		return nil
	}
	defer l.mu.Unlock()
	l.advance(time.Now())
	all := make([]int, throughputPeriods)
	for i := range all {
		all[i] = l.done[(l.period+1+int64(i))%throughputPeriods]
	}
	return all
}
