package differential

import (
	"fmt"
	"math/rand/v2"
)

// verb is what a step of a cluster's history does.
type verb string

const (
	write     verb = "write"            // create or update object Key
	remove    verb = "delete"           // delete it
	recreate  verb = "delete, create"   // another object takes its name
	elsewhere verb = "write elsewhere"  // another resource: only bookmarks report it
	start     verb = "start"            // both informers; at the end, if there is no such step
	quiet     verb = "wait"             // N seconds, for resyncs and bookmarks
	breakAll  verb = "break"            // all connections
	pause     verb = "server goes down" // objects may change all the same
	resume    verb = "server comes up"
	compact   verb = "compact"    // the history: who is behind gets 410
	restart   verb = "restart"    // break and compact
	expire    verb = "410"        // the next watch of each side ends so, and nothing was missed
	twice     verb = "send twice" // all events of the next watch of each side
	join      verb = "join"       // a handler; N is its temper
	leave     verb = "leave"      // handler N
	stall     verb = "stall"      // handler N
	release   verb = "release"    // handler N
	index     verb = "add index"
	chaosOn   verb = "chaos" // N percent of lists and watches go wrong
	chaosOff  verb = "calm"  // which also brings the server up
)

// step is one step of a cluster's history. Every sequence of steps is a history:
// what makes no sense at some point does nothing.
type step struct {
	Do  verb
	Key int
	N   int
}

func (s step) String() string {
	switch s.Do {
	case write, recreate:
		return fmt.Sprintf("%s %s (n=%d)", s.Do, keys[s.Key].Name, s.N)
	case remove:
		return fmt.Sprintf("%s %s", s.Do, keys[s.Key].Name)
	case quiet:
		return fmt.Sprintf("%s %ds", s.Do, s.N)
	case join:
		return fmt.Sprintf("%s (%v)", s.Do, temper(s.N))
	case leave, stall, release, chaosOn:
		return fmt.Sprintf("%s %d", s.Do, s.N)
	}
	return string(s.Do)
}

// temper is what kind of a handler joins.
type temper int

const (
	plain temper = iota
	resyncing
	filtering
	tempers int = iota
)

func (t temper) String() string { return [...]string{"plain", "resyncing", "filtering"}[t] }

// weights are how often each verb is selected.
var weights = []struct {
	do verb
	n  int
}{
	{write, 30}, {remove, 8}, {recreate, 8}, {elsewhere, 2}, {quiet, 4}, {breakAll, 3},
	{pause, 6}, {resume, 6}, {compact, 6}, {restart, 2}, {expire, 2}, {twice, 2},
	{join, 5}, {leave, 3}, {stall, 3}, {release, 3}, {index, 1},
}

// steps returns a history. One in four has a stretch of random faults.
func steps(seed uint64) []step {
	r := random(seed)
	var all []step
	for range r.IntN(8) {
		all = append(all, step{Do: write, Key: r.IntN(len(keys)), N: r.IntN(6)})
	}
	for range 1 + r.IntN(2) {
		all = append(all, step{Do: join, N: r.IntN(tempers)})
	}
	all = append(all, step{Do: start})
	for range 20 + r.IntN(40) {
		all = append(all, randomStep(r))
	}
	if r.IntN(4) == 0 {
		at := r.IntN(len(all))
		all = append(all[:at:at], append([]step{{Do: chaosOn, N: 10 + r.IntN(60)}}, all[at:]...)...)
		at += 1 + r.IntN(len(all)-at)
		all = append(all[:at:at], append([]step{{Do: chaosOff}}, all[at:]...)...)
	}
	return all
}

func randomStep(r *rand.Rand) step {
	sum := 0
	for _, w := range weights {
		sum += w.n
	}
	n := r.IntN(sum)
	var s step
	for _, w := range weights {
		if n -= w.n; n < 0 {
			s.Do = w.do
			break
		}
	}
	switch s.Do {
	case write, recreate:
		s.Key, s.N = r.IntN(len(keys)), r.IntN(6)
	case remove:
		s.Key = r.IntN(len(keys))
	case quiet:
		s.N = 1 + r.IntN(150)
	case join:
		s.N = r.IntN(tempers)
	case leave, stall, release:
		s.N = r.IntN(5)
	}
	return s
}
