package explore

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
)

const (
	// traceLines is how many lines a trace has at most, without those that count what is left out.
	traceLines = 18
	// mostSeen is how many lists and events of a watch it has at most.
	mostSeen = 6
	// mostDetailed is how many writes are compared with the view of the process.
	mostDetailed = 300
	// mostEvents bounds what is kept for a trace.
	mostEvents = 5000
)

// eventKind sorts what happens in a run by what it tells a reader.
type eventKind int

const (
	eventSeen    eventKind = iota // the controller lists, or sees an event
	eventStep                     // others act
	eventWrite                    // the controller writes
	eventFault                    // a fault, or a start
	eventFailure                  // the rule that was broken
)

// event is one thing that happened in a run.
type event struct {
	at   time.Duration
	who  string
	kind eventKind
	text string
	// view is what the controller's caches cannot know at this write.
	view string
	// write is the number of the controller's write.
	write int
}

// note records an event.
func (r *run) note(e event) {
	if !r.detail || len(r.events) > mostEvents && e.kind < eventFault {
		return
	}
	e.at = time.Since(r.began)
	r.events = append(r.events, e)
}

// noteWrite records a write with what it changed and what the controller's view lacked.
func (r *run) noteWrite(w Write, missing string) {
	e := event{who: w.By, kind: eventWrite, text: fmt.Sprintf("%v → %d", w, w.Code), write: r.writesN, view: missing}
	if changes := differences(w); changes != "" {
		e.text += " (" + changes + ")"
	}
	r.note(e)
}

// differences says what a write changed.
func differences(w Write) string {
	switch {
	case w.Before == nil || w.Code >= 300:
		return ""
	case w.After == nil || w.After.GetUID() != w.Before.GetUID():
		return "gone"
	}
	had, has := leaves(w.Before), leaves(w.After)
	var all []string
	for _, path := range slices.Sorted(maps.Keys(union(had, has))) {
		if !reflect.DeepEqual(had[path], has[path]) {
			all = append(all, fmt.Sprintf("%s %s→%s", strings.TrimPrefix(path, "."), valueText(had[path]), valueText(has[path])))
		}
	}
	switch {
	case len(all) == 0:
		return "changes nothing"
	case len(all) > 3:
		all = append(all[:3], "…")
	}
	return strings.Join(all, ", ")
}

// valueText is a value in a few characters.
func valueText(v any) string {
	if v == nil {
		return "nothing"
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if len(b) > 48 {
		return string(b[:45]) + "…"
	}
	return string(b)
}

// lines is the trace of a run: all faults, the last writes and steps, and before the
// failure what the controller has seen.
func lines(events []event) []string {
	events = folded(untilFailure(events))
	keep := make([]bool, len(events))
	left := traceLines
	take := func(i int) {
		if cost := events[i].lines(); !keep[i] && left >= cost {
			keep[i] = true
			left -= cost
		}
	}
	// What explains most comes first: the failure, the faults, the last writes, then the
	// steps and writes before the first fault, then what the controller saw last.
	first := len(events)
	for i, e := range events {
		if e.kind == eventFailure {
			take(i)
		}
		if e.kind == eventFault && e.who == "fault" {
			first = min(first, i)
			take(i)
		}
	}
	for i := len(events) - 1; i >= first; i-- {
		if events[i].kind != eventSeen {
			take(i)
		}
	}
	for i := min(first, len(events)) - 1; i >= 0 && left > 2; i-- {
		if events[i].kind != eventSeen {
			take(i)
		}
	}
	for i := range events {
		if events[i].kind != eventSeen {
			take(i)
		}
	}
	seen, acted := 0, false
	for i := len(events) - 1; i >= 0 && seen < mostSeen; i-- {
		switch {
		case events[i].kind != eventSeen:
			acted = acted || events[i].kind != eventFailure
		case acted: // later lists are routine
			take(i)
			seen++
		}
	}
	var out []string
	dropped := 0
	for i, e := range events {
		if !keep[i] {
			dropped++
			continue
		}
		if dropped >= 10 && len(out) > 0 && e.kind != eventFailure {
			out = append(out, fmt.Sprintf("%8s  … %d more", "", dropped))
		}
		dropped = 0
		out = append(out, e.line())
	}
	return out
}

// untilFailure leaves out what was already on its way when the rule was broken.
func untilFailure(events []event) []event {
	i := slices.IndexFunc(events, func(e event) bool { return e.kind == eventFailure })
	return events[:cmp.Or(i+1, len(events))]
}

// longestCycle is how many events a repetition may consist of.
const longestCycle = 4

// folded replaces what happens again and again by its first time and a line that counts the others.
func folded(events []event) []event {
	var out []event
	for i := 0; i < len(events); {
		size, times := cycle(events[i:])
		if times < 3 {
			out = append(out, events[i])
			i++
			continue
		}
		out = append(out, events[i:i+size]...)
		i += size * times
		last := events[i-1]
		out = append(out, event{at: last.at, who: last.who, kind: last.kind, text: fmt.Sprintf("… the same %d times more", times-1)})
	}
	return out
}

// cycle returns what the events begin with: how many events happen how many times.
func cycle(events []event) (size, times int) {
	for size = 1; size <= longestCycle; size++ {
		for times = 1; (times+1)*size <= len(events); times++ {
			if !slices.EqualFunc(events[:size], events[times*size:(times+1)*size], alike) {
				break
			}
		}
		if times >= 3 {
			return size, times
		}
	}
	return 1, 1
}

// alike reports whether two events differ in numbers only.
func alike(a, b event) bool {
	return a.who == b.who && a.kind == b.kind && a.kind < eventFault && withoutNumbers(a.text) == withoutNumbers(b.text)
}

// withoutNumbers is the text without what counts and without what it changed.
func withoutNumbers(text string) string {
	text, _, _ = strings.Cut(text, " (")
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, text)
}

// lines is how many lines the event has in a trace. The reason of a failure is not counted: it may have a stack.
func (e event) lines() int {
	if e.view != "" {
		return 2
	}
	return 1
}

// numbered is the text, with the position that schedules have for a write.
func (e event) numbered() string {
	if e.write > 0 {
		return fmt.Sprintf("w%d %s", e.write, e.text)
	}
	return e.text
}

// line is the event in a trace.
func (e event) line() string {
	text := e.numbered()
	if e.view != "" {
		text += "\n" + strings.Repeat(" ", 21) + "its view " + e.view
	}
	return fmt.Sprintf("%8s  %-7s  %s", formatTime(e.at), e.who, firstLines(text))
}

// firstLines cuts the stack of a panic.
func firstLines(text string) string {
	all := strings.SplitN(text, "\n", 12)
	if len(all) == 12 {
		all[11] = "…"
	}
	return strings.Join(all, "\n")
}

func formatTime(d time.Duration) string {
	return fmt.Sprintf("%.3fs", d.Seconds())
}

// typeName is the name of an object's Go type, such as "Pod".
func typeName(v any) string {
	return reflect.Indirect(reflect.ValueOf(v)).Type().Name()
}
