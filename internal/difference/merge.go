package difference

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Merger applies a change to the whole of an object.
type Merger struct {
	Type reflect.Type // that the program sees the object by
	// ListMapKeys names the fields that identify an element of a list. The elements of a list add nothing to a path.
	ListMapKeys map[string][]string
}

// whole is a value on the server, and as the Go type shows it.
type whole struct{ live, seen any }

func (w whole) member(name string) whole {
	live, _ := w.live.(map[string]any)
	seen, _ := w.seen.(map[string]any)
	return whole{live[name], seen[name]}
}

// Merge returns live with the difference between before and after. Seen is live as the Go type shows it, and before what a
// Transform has left of it.
func (m Merger) Merge(live, seen, before, after map[string]any) (map[string]any, error) {
	return m.members(nil, field{of: m.Type}, whole{live, seen}, before, after)
}

func (m Merger) value(path []string, f field, w whole, before, after any) (any, error) {
	if reflect.DeepEqual(before, after) {
		return w.live, nil
	}
	switch w.live.(type) {
	case map[string]any:
		from, wasMap := before.(map[string]any)
		if to, isMap := after.(map[string]any); isMap && (wasMap || before == nil) {
			return m.members(path, f, w, from, to)
		}
	case []any:
		from, wasList := before.([]any)
		if to, isList := after.([]any); isList && (wasList || before == nil) {
			return m.list(path, f, w, from, to)
		}
	}
	return after, nil
}

func (m Merger) members(path []string, f field, w whole, before, after map[string]any) (map[string]any, error) {
	live, _ := w.live.(map[string]any)
	all := maps.Clone(live)
	for name := range Names(before, after) {
		was, had := before[name]
		is, has := after[name]
		if had == has && reflect.DeepEqual(was, is) { // Go writes zero values for what live lacks
			continue
		}
		at, part := append(slices.Clip(path), name), f.member(name)
		switch was.(type) { // Go omits what was emptied: its hidden parts stay
		case map[string]any:
			if is == nil && part.omitted {
				is = map[string]any{}
			}
		case []any:
			if is == nil && (part.omitted || part.of == nil && !has) {
				is = []any{}
			}
		}
		value, err := m.value(at, part, w.member(name), was, is)
		if err != nil {
			return nil, err
		}
		all[name] = value
		if !has && isEmpty(value) {
			delete(all, name)
		}
	}
	return all, nil
}

func isEmpty(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return value == nil
}

// list matches elements by what identifies them, scalars by their value, others by position. Hidden elements stay behind the
// same element as before.
func (m Merger) list(path []string, f field, w whole, before, after []any) ([]any, error) {
	live, _ := w.live.([]any)
	seen, _ := w.seen.([]any)
	if shown(live, seen, before) {
		return after, nil
	}
	keys := m.keysOf(path, f)
	inLive, inBefore, inAfter := identities(seen, keys), identities(before, keys), identities(after, keys)
	matches := len(live) == len(seen)
	if matches && (inLive == nil || inBefore == nil || inAfter == nil) {
		matches = len(before) == len(seen) && within(before, seen)
		if matches {
			var unsure []int
			inLive, inAfter, unsure = matched(before, after)
			inBefore = inLive
			matches = !slices.ContainsFunc(unsure, func(i int) bool { return !shown(live[i], seen[i], before[i]) })
		}
	}
	if !matches {
		return nil, fmt.Errorf("the elements of the list %s cannot be matched with those on the server, which have parts that %s lacks or a Transform drops: "+
			"name the fields that identify an element in ListMapKeys, keep these parts, or change the list by Apply or Patch", strings.Join(path, "."), m.Type)
	}
	liveAt, beforeAt, afterAt := positions(inLive), positions(inBefore), positions(inAfter)
	hidden, last := map[int][]any{}, -1 // by the element before them that stays
	for i, id := range inLive {
		if _, stays := afterAt[id]; stays {
			last = i
		} else if _, known := beforeAt[id]; !known {
			hidden[last] = append(hidden[last], live[i])
		}
	}
	all := append([]any{}, hidden[-1]...)
	for j, id := range inAfter {
		i, exists := liveAt[id]
		if !exists {
			all = append(all, after[j])
			continue
		}
		var was any
		if at, known := beforeAt[id]; known {
			was = before[at]
		}
		value, err := m.value(path, f.member(""), whole{live[i], seen[i]}, was, after[j])
		if err != nil {
			return nil, err
		}
		all = append(append(all, value), hidden[i]...)
	}
	return all, nil
}

// shown reports whether the program sees all of live: its Go type has all members, and no Transform has changed any.
func shown(live, seen, before any) bool {
	return reflect.DeepEqual(seen, before) && hasMembers(seen, live)
}

func hasMembers(seen, live any) bool {
	switch live := live.(type) {
	case map[string]any:
		of, ok := seen.(map[string]any)
		for name, value := range live {
			member, has := of[name]
			ok = ok && has && hasMembers(member, value)
		}
		return ok
	case []any:
		of, ok := seen.([]any)
		return ok && slices.EqualFunc(of, live, hasMembers)
	}
	return true
}

// within reports whether a is what a Transform may have left of b: parts are equal, missing or zero.
func within(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		of, _ := b.(map[string]any)
		for name, value := range a {
			if !within(value, of[name]) {
				return false
			}
		}
		return true
	case []any:
		of, _ := b.([]any)
		return len(a) == 0 || slices.EqualFunc(a, of, within)
	}
	return a == nil || a == "" || a == false || a == json.Number("0") || a == b
}

// keysOf returns the fields that identify an element of a list: those of the options, or of the Go type.
func (m Merger) keysOf(path []string, f field) []string {
	for pattern, keys := range m.ListMapKeys {
		if slices.EqualFunc(strings.Split(pattern, "."), path, func(name, at string) bool { return name == "*" || name == at }) {
			return keys
		}
	}
	return []string{f.key}
}

// identities returns what identifies each element of a list; nil if that is unknown or not unique. Scalars identify themselves.
func identities(list []any, keys []string) []string {
	ids := make([]string, len(list))
	for i, element := range list {
		id := []any{element}
		switch e := element.(type) {
		case map[string]any:
			if id = nil; e[keys[0]] == nil {
				return nil
			}
			for _, key := range keys {
				id = append(id, e[key])
			}
		case []any, nil:
			return nil
		}
		ids[i] = textOf(id)
	}
	if len(positions(ids)) < len(ids) {
		return nil
	}
	return ids
}

func positions(ids []string) map[string]int {
	at := make(map[string]int, len(ids))
	for i, id := range ids {
		at[id] = i
	}
	return at
}

// textOf returns the JSON of a value. Two are equal if their texts are.
func textOf(value any) string {
	text, _ := json.Marshal(value) // of values that were decoded from JSON
	return string(text)
}

// matched returns identities by position: equal elements are matched first, and then those between the same equal elements, if
// they are as many. Unsure are elements of before for which another match is as good.
func matched(before, after []any) (inBefore, inAfter []string, unsure []int) {
	left, counts, taken := map[string][]int{}, map[string]int{}, make([]bool, len(before))
	for i, element := range before {
		id := textOf(element)
		left[id] = append(left[id], i)
		inBefore = append(inBefore, strconv.Itoa(i))
	}
	for j, element := range after {
		counts[textOf(element)]++
		inAfter = append(inAfter, fmt.Sprint("added ", j))
	}
	for id, at := range left {
		if n := counts[id]; n > 0 && n != len(at) && len(at) > 1 {
			unsure = append(unsure, at...)
		}
	}
	type gap struct{ was, is []int }
	gaps := map[int]*gap{} // by the equal element before it
	for i := range len(before) + 1 {
		gaps[i-1] = &gap{}
	}
	last, sorted, added := -1, true, false
	for j, element := range after {
		id := textOf(element)
		if len(left[id]) == 0 {
			added = true
			gaps[last].is = append(gaps[last].is, j)
			continue
		}
		i := left[id][0]
		left[id], taken[i] = left[id][1:], true
		inAfter[j], sorted, last = inBefore[i], sorted && i > last, i
	}
	last = -1
	for i := range before {
		if taken[i] {
			last = i
		} else {
			gaps[last].was = append(gaps[last].was, i)
		}
	}
	for _, g := range gaps {
		switch {
		case sorted && len(g.was) == len(g.is):
			for k, j := range g.is {
				inAfter[j] = inBefore[g.was[k]]
			}
		case sorted && len(g.is) > 0 || !sorted && added:
			unsure = append(unsure, g.was...)
		}
	}
	return inBefore, inAfter, unsure
}
