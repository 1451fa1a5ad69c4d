package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// wildcard matches any value. As a member of an object or of a list it allows others.
const wildcard = "…"

// A symbol stands for a value that the server chooses.
var (
	symbol = regexp.MustCompile(`\$(?:uid|rv|list|mark|next|token|ip|port|time|value)[0-9]+`)
	later  = regexp.MustCompile(`(\$[a-z]+[0-9]+)\+([0-9]+)`)
)

// symbols are the values that a server chose in one scenario.
type symbols struct {
	ns     string
	values map[string]any
	seen   map[string]any // objects by uid, version and kind
	latest uint64         // the greatest version of an object
}

func newSymbols(ns string) *symbols {
	return &symbols{ns: ns, values: map[string]any{}, seen: map[string]any{}}
}

// expand replaces the symbols in a text. A quoted symbol of a number becomes a number.
func (s *symbols) expand(text string) string {
	text = strings.ReplaceAll(text, "$NS", s.ns)
	text = later.ReplaceAllStringFunc(text, func(sum string) string {
		m := later.FindStringSubmatch(sum)
		a, _ := strconv.ParseUint(fmt.Sprint(s.values[m[1]]), 10, 64)
		b, _ := strconv.ParseUint(m[2], 10, 64)
		return fmt.Sprint(a + b)
	})
	for name, value := range s.values {
		if number, ok := value.(float64); ok {
			text = strings.ReplaceAll(text, `"`+name+`"`, fmt.Sprint(number))
		}
	}
	return symbol.ReplaceAllStringFunc(text, func(name string) string {
		value, ok := s.values[name]
		if !ok {
			return name
		}
		if strings.HasPrefix(name, "$next") { // occurs in queries only
			return url.QueryEscape(fmt.Sprint(value))
		}
		return fmt.Sprint(value)
	})
}

// match returns the differences of a value from a pattern, one a line.
func (s *symbols) match(at string, pattern, got any) (out []string) {
	differs := func() []string {
		return []string{fmt.Sprintf("%s\n    want: %.1500s\n    got:  %.1500s", at, compactJSON(pattern), compactJSON(got))}
	}
	switch pattern := pattern.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok {
			return differs()
		}
		_, open := pattern[wildcard]
		for _, name := range slices.Sorted(maps.Keys(pattern)) {
			if value, ok := object[name]; ok {
				out = append(out, s.match(at+"."+name, pattern[name], value)...)
			} else if name != wildcard {
				out = append(out, at+"."+name+" is missing")
			}
		}
		for name := range object {
			if _, ok := pattern[name]; !ok && !open {
				out = append(out, at+"."+name+" is not expected: "+compactJSON(object[name]))
			}
		}
		return out
	case []any:
		list, ok := got.([]any)
		if !ok {
			return differs()
		}
		if len(pattern) > 0 && pattern[len(pattern)-1] == wildcard {
			if len(list) == 0 {
				return differs()
			}
			for _, p := range pattern[:len(pattern)-1] {
				if !slices.ContainsFunc(list, func(item any) bool { return len(s.match("", p, item)) == 0 }) {
					out = append(out, at+" has no member "+compactJSON(p))
				}
			}
			return out
		}
		if len(list) != len(pattern) {
			return differs()
		}
		if strings.HasSuffix(at, ".managedFields") {
			pattern, list = byManager(pattern), byManager(list)
		}
		for i := range list {
			out = append(out, s.match(fmt.Sprintf("%s[%d]", at, i), pattern[i], list[i])...)
		}
		return out
	case string:
		if pattern == wildcard {
			return nil
		}
		if err := s.matchText(pattern, got); err != nil {
			return []string{at + ": " + err.Error()}
		}
		return nil
	}
	if !reflect.DeepEqual(pattern, got) {
		return differs()
	}
	return nil
}

// byManager sorts managedFields. Servers sort them by their times, whose order is chance: those of
// one second are sorted by other members.
func byManager(list []any) []any {
	key := func(item any) string {
		m, _ := item.(map[string]any)
		return fmt.Sprint(m["operation"], " ", m["subresource"], " ", m["manager"])
	}
	return slices.SortedStableFunc(slices.Values(list), func(a, b any) int { return strings.Compare(key(a), key(b)) })
}

// matchText compares a value with a text, in which symbols and wildcards may occur.
func (s *symbols) matchText(pattern string, got any) error {
	if symbol.FindString(pattern) == pattern && pattern != "" {
		return s.bind(pattern, got)
	}
	text, ok := got.(string)
	parts := strings.Split(s.expand(pattern), wildcard)
	last := len(parts) - 1
	rest, found := strings.CutPrefix(text, parts[0])
	for _, part := range parts[min(1, last):max(last, 1)] {
		if last > 0 && found {
			_, rest, found = strings.Cut(rest, part)
		}
	}
	if !ok || !found || last == 0 && rest != "" || last > 0 && !strings.HasSuffix(rest, parts[last]) {
		return fmt.Errorf("\n    want: %s\n    got:  %v", pattern, got)
	}
	return nil
}

// bind gives a symbol its value when it first occurs; later the value must be the same.
// Versions of objects grow, and those of lists and bookmarks are not older.
func (s *symbols) bind(name string, got any) error {
	if strings.HasPrefix(name, "$time") { // equal times are chance
		at, err := time.Parse(time.RFC3339Nano, fmt.Sprint(got))
		if err != nil || time.Since(at).Abs() > time.Minute {
			return fmt.Errorf("want the current time, got %v", got)
		}
		s.values[name] = got
		return nil
	}
	if value, ok := s.values[name]; ok {
		if value != got {
			return fmt.Errorf("want %v as %s, got %v", value, name, got)
		}
		return nil
	}
	switch kind := strings.TrimRight(name, "0123456789"); kind {
	case "$rv", "$list", "$mark":
		number, err := strconv.ParseUint(fmt.Sprint(got), 10, 64)
		if err != nil || number < s.latest || kind == "$rv" && number == s.latest {
			return fmt.Errorf("want a version later than %d as %s, got %v", s.latest, name, got)
		}
		if kind == "$rv" {
			s.latest = number
		}
	case "$uid":
		for other, value := range s.values {
			if value == got {
				return fmt.Errorf("%s is %v, which was %s before", name, got, other)
			}
		}
	}
	if got == nil || got == "" {
		return fmt.Errorf("%s is empty", name)
	}
	s.values[name] = got
	return nil
}

// unchanged checks that an object is shown with the same content wherever it is
// shown with the same version, and that its time of creation never changes.
func (s *symbols) unchanged(v any) error {
	o, _ := v.(map[string]any)
	meta, _ := o["metadata"].(map[string]any)
	uid, version := meta["uid"], meta["resourceVersion"]
	if uid == nil || version == nil || version == "" || meta["deletionTimestamp"] != nil {
		return nil // an answer may show how an object that is deleted would be
	}
	if before, ok := s.seen[fmt.Sprint(uid)]; ok && before != meta["creationTimestamp"] {
		return fmt.Errorf("the time of creation was %v and is %v", before, meta["creationTimestamp"])
	}
	s.seen[fmt.Sprint(uid)] = meta["creationTimestamp"]
	key := fmt.Sprint(uid, version, o["apiVersion"], o["kind"])
	if before, ok := s.seen[key]; ok && !reflect.DeepEqual(before, v) {
		return fmt.Errorf("version %v was\n    %s\n  and is\n    %s", version, compactJSON(before), compactJSON(v))
	}
	s.seen[key] = v
	return nil
}

// decodeBody decodes the body of an answer; a text that is not JSON is a string.
func decodeBody(content []byte) any {
	var v any
	if json.Unmarshal(content, &v) != nil {
		return string(content)
	}
	return v
}
