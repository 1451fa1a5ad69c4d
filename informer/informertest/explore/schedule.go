package explore

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// schedule is what goes wrong in one run, in no order.
type schedule []fault

// fault is one perturbation. It happens once, when the controller is about to make the
// write of its position, or when users are about to take the step of it.
type fault struct {
	kind     string
	at       place
	resource string // of views: which kind of object
	n        int    // how often, how far back, how many; the kind says what. 0 is its default
}

// place is a position in a run: "w3" is the third write of the controller, "a2" the
// second step of Act, a bare number the seed of an order.
type place struct {
	of byte // 'w', 'a' or 0
	n  int
}

// kindOfFault is a kind of perturbation: README.md has the table.
type kindOfFault struct {
	name string
	of   byte // what its positions count
	view bool // needs a resource
	most int  // the largest argument; 0 takes none
	// usual is the argument where the schedule states none.
	usual int
}

// The kinds, by the names that schedules have for them.
const (
	crashBefore  = "crash-before"
	crashAfter   = "crash-after"
	stopBefore   = "stop-before"
	lostAnswer   = "lost"
	timeoutAfter = "timeout"
	lagging      = "lag"
	staleRestart = "stale"
	gapInWatch   = "gap"
	earlyStep    = "early"
	conflicting  = "conflict"
	replaced     = "replace"
	tooMany      = "429"
	internal     = "500"
	unavailable  = "503"
	denied       = "deny"
	overQuota    = "quota"
	leaseCut     = "lease"
	partition    = "partition"
	ordering     = "order"
)

var kindsOfFaults = []kindOfFault{
	{name: crashBefore, of: 'w'},
	{name: crashAfter, of: 'w'},
	{name: lagging, of: 'w', view: true},
	{name: lostAnswer, of: 'w'},
	{name: earlyStep, of: 'w', most: 8, usual: 1},
	{name: gapInWatch, of: 'a', view: true, most: 8, usual: 2},
	{name: staleRestart, of: 'w', view: true, most: 8, usual: 1},
	{name: internal, of: 'w', most: 8, usual: 1},
	{name: leaseCut, of: 'w'},
	{name: ordering},
	{name: conflicting, of: 'w'},
	{name: replaced, of: 'w'},
	{name: partition, of: 'w'},
	{name: timeoutAfter, of: 'w'},
	{name: stopBefore, of: 'w'},
	{name: denied, of: 'w'},
	{name: overQuota, of: 'w'},
	{name: tooMany, of: 'w', most: 8, usual: 1},
	{name: unavailable, of: 'w', most: 8, usual: 1},
}

// kindNamed finds a kind.
func kindNamed(name string) (kindOfFault, bool) {
	i := slices.IndexFunc(kindsOfFaults, func(k kindOfFault) bool { return k.name == name })
	if i < 0 {
		return kindOfFault{}, false
	}
	return kindsOfFaults[i], true
}

// count is the argument, or the usual one.
func (f fault) count() int {
	k, _ := kindNamed(f.kind)
	return cmp.Or(f.n, k.usual)
}

// String is such as "stale@w3:pods:2".
func (f fault) String() string {
	s := f.kind + "@"
	if f.at.of != 0 {
		s += string(f.at.of)
	}
	s += strconv.Itoa(f.at.n)
	if f.resource != "" {
		s += ":" + f.resource
	}
	if f.n != 0 {
		s += ":" + strconv.Itoa(f.n)
	}
	return s
}

// String is the faults with a space between two.
func (s schedule) String() string {
	all := make([]string, len(s))
	for i, f := range s {
		all[i] = f.String()
	}
	return strings.Join(all, " ")
}

// parseSchedule reads what String wrote; "none" and "" are the schedule without faults.
func parseSchedule(text string) (schedule, error) {
	if text == noFaults {
		return nil, nil
	}
	var s schedule
	for _, word := range strings.Fields(text) {
		f, err := parseFault(word)
		if err != nil {
			return nil, fmt.Errorf("explore: fault %q of a schedule: %w", word, err)
		}
		s = append(s, f)
	}
	return s, nil
}

func parseFault(word string) (f fault, err error) {
	name, rest, _ := strings.Cut(word, "@")
	kind, ok := kindNamed(name)
	if !ok {
		return f, errors.New("there is no such kind")
	}
	f.kind = name
	parts := strings.Split(rest, ":")
	where := parts[0]
	if kind.of != 0 {
		if where == "" || where[0] != 'w' && where[0] != 'a' {
			return f, errors.New("want a position such as w3, the third write, or a2, the second step of users")
		}
		f.at.of, where = where[0], where[1:]
	}
	if f.at.n, err = strconv.Atoi(where); err != nil || f.at.n < 1 {
		return f, errors.New("the position is not a number from 1 on")
	}
	parts = parts[1:]
	if kind.view {
		if len(parts) == 0 || parts[0] == "" {
			return f, errors.New("want the resource, such as " + name + "@" + string(kind.of) + "3:pods")
		}
		f.resource, parts = parts[0], parts[1:]
	}
	if len(parts) == 0 {
		return f, nil
	}
	if f.n, err = strconv.Atoi(parts[0]); err != nil || f.n < 1 || f.n > kind.most || len(parts) > 1 {
		return f, fmt.Errorf("the last part is not a number from 1 to %d", kind.most)
	}
	return f, nil
}

// simpler are schedules with one fault less, then with one argument or position smaller:
// what shrinking tries, most promising first.
func (s schedule) simpler() []schedule {
	var out []schedule
	for i := range s {
		out = append(out, slices.Delete(slices.Clone(s), i, i+1))
	}
	for i, f := range s {
		with := func(g fault) {
			c := slices.Clone(s)
			c[i] = g
			out = append(out, c)
		}
		if f.n > 1 {
			g := f
			g.n = f.n / 2
			with(g)
		} else if f.n == 1 && f.count() == 1 {
			g := f
			g.n = 0
			with(g)
		}
		// A crash says more to a reader than a shutdown, and a lost answer than a timeout.
		for from, to := range map[string]string{stopBefore: crashBefore, timeoutAfter: lostAnswer, unavailable: internal, tooMany: internal} {
			if f.kind == from {
				g := f
				g.kind = to
				with(g)
			}
		}
	}
	return out
}
