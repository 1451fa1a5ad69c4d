package quickjson

import (
	"reflect"
	"strings"
)

// field is a field of a struct under its name in JSON.
type field struct {
	name string
	path []int // through embedded structs
	read plan
}

// structure is the plan of a struct.
type structure struct {
	fields []field
	index  map[string]int // in fields
}

func (b planner) structure(t reflect.Type) plan {
	s := &structure{index: map[string]int{}}
	if !s.add(b, t, nil) {
		return nil
	}
	return s.read
}

// add takes over the fields of t, which is embedded at path. It reports false if
// there is anything to them that needs thinking about.
func (s *structure) add(b planner, t reflect.Type, path []int) bool {
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		if tag == "-" || !f.IsExported() && !f.Anonymous {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		here := append(path[:len(path):len(path)], i)
		if f.Anonymous && name == "" {
			// What an embedded type with a method is, is not seen from its fields,
			// but then the outer type has the method, too.
			if f.Type.Kind() != reflect.Struct || !f.IsExported() || !s.add(b, f.Type, here) {
				return false
			}
			continue
		}
		if name == "" {
			name = f.Name
		}
		_, twice := s.index[name]
		if twice || !f.IsExported() || strings.Trim(name, nameChars) != "" || strings.Contains(","+options+",", ",string,") {
			return false
		}
		read := b.plan(f.Type)
		if read == nil {
			return false
		}
		s.index[name] = len(s.fields)
		s.fields = append(s.fields, field{name, here, read})
	}
	return true
}

// nameChars are those of names that need no thinking about.
const nameChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./$"

func (s *structure) read(r *reader, v reflect.Value) bool {
	if r.null() {
		return true
	}
	empty, ok := r.open('{', '}')
	next := 0 // servers send the fields in their order
	for more := ok && !empty; more; {
		name, found := r.key()
		if !found {
			return false
		}
		f := s.find(name, next)
		if f < 0 {
			if _, ok := r.skip(); !ok {
				return false
			}
		} else {
			next = f + 1
			to := v
			for _, i := range s.fields[f].path {
				to = to.Field(i)
			}
			if !s.fields[f].read(r, to) {
				return false
			}
		}
		if more, ok = r.more('}'); !ok {
			return false
		}
	}
	return ok
}

// find returns the index of the field with that name, likely the one given, or
// -1.
func (s *structure) find(name []byte, likely int) int {
	if likely < len(s.fields) && s.fields[likely].name == string(name) {
		return likely
	}
	if i, ok := s.index[string(name)]; ok {
		return i
	}
	return -1
}
