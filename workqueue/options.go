package workqueue

import "time"

// Options configures a queue. The zero value is a FIFO queue without metrics.
//
// Every combination is valid. The functions are called without the queue's
// lock held, from whatever goroutine adds, concurrently.
type Options[T comparable] struct {
	// Name tells queues apart in [Queue.Inspect] and in logs.
	Name string

	// Budgets, if it has more than one element, divides the items into priority
	// classes 0, 1, …; class 0 is the most urgent. Budgets[c] is the bound of class
	// c: how long its items may wait while others are handed out. An item that has
	// waited for so long is overdue. A negative bound counts as 0. The bound of
	// class 0 has no effect.
	//
	// The most urgent class that has items is served, except that every fourth
	// hand-out goes to a class with an overdue item, if there is one. Several such
	// classes take turns. So two things hold at any time, see promises 5 and 6 of
	// the package:
	//
	//  - A backlog of other classes delays an urgent item by one item, and a run of
	//    urgent items by a third, however long the backlog is and has been there.
	//  - A flood of urgent items delays the others until their bound. From then on
	//    they get a quarter of the hand-outs, so nothing starves.
	//
	// []time.Duration{0, time.Minute} reads: class 0 first, and an item of class 1
	// comes after a minute even so. With groups, the groups of a class take turns
	// in what the class gets.
	Budgets []time.Duration

	// Class gives the priority class of an item that is added without one. Numbers
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
