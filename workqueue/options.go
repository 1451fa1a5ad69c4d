package workqueue

import "time"

// Options configures a queue. The zero value is a FIFO queue without metrics.
//
// Every combination is valid. The functions are called without the queue's
// lock held, from whatever goroutine adds, concurrently.
type Options[T comparable] struct {
	// Name tells queues apart in [Queue.Inspect] and in logs.
	Name string

	// Budgets, if it has more than one element, divides the items into classes
	// 0, 1, …; Budgets[c] is how long an item of class c may wait for items of
	// other classes. The item whose budget ends first is handed out first, so
	// that nothing waits longer than its budget plus the time taken by what
	// was due before it: a flood of urgent items delays the others, but
	// cannot starve them. A negative budget counts as 0.
	//
	// []time.Duration{0, time.Minute} reads: class 0 first, unless an item of
	// class 1 has been waiting for a minute.
	Budgets []time.Duration

	// Class gives the class of an item that is added without one. Numbers
	// outside the classes count as the nearest. Nil means class 0.
	Class func(T) int

	// Group, if set, makes items of the same class take turns by group: one
	// item of each group that has any, then the next round. With the
	// namespace as the group, a namespace with a million changes delays
	// another one by a single item per turn. It must give the same answer for
	// the same item.
	Group func(T) string

	// Times makes the queue keep when items were added and handed out, for
	// [Queue.Inspect] and the durations in [Queue.Stats]. It costs a look at the
	// clock per Add and per Get. Classes and metrics need the times and imply it.
	Times bool

	// Metrics, if set, is told what happens to the items.
	Metrics Metrics
}
