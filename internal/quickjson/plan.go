package quickjson

import (
	"encoding"
	"encoding/base64"
	"encoding/json"
	"reflect"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// plan reads a value into v, which is settable and zero unless a key comes
// twice. It reports false to give up.
type plan func(r *reader, v reflect.Value) bool

// plans are those of whole types: nil for a type without one.
var plans sync.Map // reflect.Type → plan

func planOf(t reflect.Type) plan {
	if p, ok := plans.Load(t); ok {
		return p.(plan)
	}
	p := planner{}.plan(t)
	plans.Store(t, p)
	return p
}

// planner makes the plans of a type and its parts. It knows those that it has
// begun, so that a type may have parts of its own type.
type planner map[reflect.Type]*draft

type draft struct {
	plan plan
	done bool
}

func (b planner) plan(t reflect.Type) plan {
	d, begun := b[t]
	switch {
	case !begun:
		d = new(draft)
		b[t] = d
		d.plan = b.make(t)
		d.done = true
		return d.plan
	case d.done:
		return d.plan
	default:
		return func(r *reader, v reflect.Value) bool { return d.plan(r, v) }
	}
}

var (
	unmarshalerType     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
	stringMapType       = reflect.TypeFor[map[string]string]()
	anyMapType          = reflect.TypeFor[map[string]any]()
)

func (b planner) make(t reflect.Type) plan {
	ptr := reflect.PointerTo(t)
	switch {
	case t == reflect.TypeFor[metav1.Time]():
		return readTime
	case t.Kind() != reflect.Pointer && ptr.Implements(unmarshalerType):
		return readUnmarshaler
	case t.Kind() != reflect.Pointer && ptr.Implements(textUnmarshalerType):
		return nil
	case t == stringMapType:
		return readStringMap
	case t == anyMapType:
		return readAnyMap
	}
	switch t.Kind() {
	case reflect.Bool:
		return readBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return readInt
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return readUint
	case reflect.Float32, reflect.Float64:
		return readFloat
	case reflect.String:
		if t == reflect.TypeFor[json.Number]() {
			return nil
		}
		return readString
	case reflect.Interface:
		if t.NumMethod() > 0 {
			return nil
		}
		return readAny
	case reflect.Pointer:
		return b.pointer(t)
	case reflect.Slice:
		return b.slice(t)
	case reflect.Map:
		return b.mapping(t)
	case reflect.Struct:
		return b.structure(t)
	}
	return nil
}

// null consumes a null, if there is one.
func (r *reader) null() bool { return r.peek() == 'n' && r.literal("null") }

func readString(r *reader, v reflect.Value) bool {
	if r.null() {
		return true
	}
	s, ok := r.str()
	v.SetString(s)
	return ok
}

func readBool(r *reader, v reflect.Value) bool {
	switch r.peek() {
	case 't':
		v.SetBool(true)
		return r.literal("true")
	case 'f':
		v.SetBool(false)
		return r.literal("false")
	}
	return r.null()
}

func readInt(r *reader, v reflect.Value) bool {
	if r.null() {
		return true
	}
	digits, integer, ok := r.number()
	if !ok || !integer {
		return false
	}
	n, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil || v.OverflowInt(n) {
		return false
	}
	v.SetInt(n)
	return true
}

func readUint(r *reader, v reflect.Value) bool {
	if r.null() {
		return true
	}
	digits, integer, ok := r.number()
	if !ok || !integer {
		return false
	}
	n, err := strconv.ParseUint(string(digits), 10, 64)
	if err != nil || v.OverflowUint(n) {
		return false
	}
	v.SetUint(n)
	return true
}

func readFloat(r *reader, v reflect.Value) bool {
	if r.null() {
		return true
	}
	digits, _, ok := r.number()
	if !ok {
		return false
	}
	f, err := strconv.ParseFloat(string(digits), v.Type().Bits())
	if err != nil || v.OverflowFloat(f) {
		return false
	}
	v.SetFloat(f)
	return true
}

func readAny(r *reader, v reflect.Value) bool {
	if !v.IsNil() {
		return false
	}
	x, ok := r.value()
	if ok && x != nil {
		v.Set(reflect.ValueOf(x))
	}
	return ok
}

func readUnmarshaler(r *reader, v reflect.Value) bool {
	raw, ok := r.skip()
	return ok && v.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(raw) == nil
}

// readTime does what the method of the type does, without a decoder of its own.
func readTime(r *reader, v reflect.Value) bool {
	to := v.Addr().Interface().(*metav1.Time)
	if r.null() {
		to.Time = time.Time{}
		return true
	}
	s, ok := r.str()
	if !ok {
		return false
	}
	t, err := time.Parse(time.RFC3339, s)
	to.Time = t.Local()
	return err == nil
}

func readStringMap(r *reader, v reflect.Value) bool {
	if r.null() {
		v.SetZero()
		return true
	}
	empty, ok := r.open('{', '}')
	if !ok || !v.IsNil() {
		return false
	}
	m := map[string]string{}
	*v.Addr().Interface().(*map[string]string) = m
	for more := !empty; more; {
		k, ok := r.str()
		if !ok || r.peek() != ':' {
			return false
		}
		r.pos++
		s, ok := "", r.null()
		if !ok {
			s, ok = r.str()
		}
		if !ok {
			return false
		}
		m[k] = s
		if more, ok = r.more('}'); !ok {
			return false
		}
	}
	return true
}

func readAnyMap(r *reader, v reflect.Value) bool {
	if r.null() {
		v.SetZero()
		return true
	}
	if !v.IsNil() {
		return false
	}
	m, ok := r.object()
	*v.Addr().Interface().(*map[string]any) = m
	return ok
}

func readBytes(r *reader, v reflect.Value) bool {
	if r.null() {
		v.SetZero()
		return true
	}
	s, ok := r.str()
	if !ok {
		return false
	}
	b, err := base64.StdEncoding.DecodeString(s)
	v.SetBytes(b)
	return err == nil
}

func (b planner) pointer(t reflect.Type) plan {
	elem := t.Elem()
	read := b.plan(elem)
	if read == nil {
		return nil
	}
	return func(r *reader, v reflect.Value) bool {
		if r.null() {
			v.SetZero()
			return true
		}
		if !v.IsNil() {
			return false
		}
		p := reflect.New(elem)
		v.Set(p)
		return read(r, p.Elem())
	}
}

func (b planner) slice(t reflect.Type) plan {
	if t.Elem() == reflect.TypeFor[byte]() {
		return readBytes
	}
	read := b.plan(t.Elem())
	if read == nil {
		return nil
	}
	return func(r *reader, v reflect.Value) bool {
		if r.null() {
			v.SetZero()
			return true
		}
		empty, ok := r.open('[', ']')
		if !ok || !v.IsNil() {
			return false
		}
		if empty {
			v.Set(reflect.MakeSlice(t, 0, 0))
			return true
		}
		for n, more := 0, true; more; n++ {
			if n == v.Cap() {
				v.Grow(1)
			}
			v.SetLen(n + 1)
			if !read(r, v.Index(n)) {
				return false
			}
			if more, ok = r.more(']'); !ok {
				return false
			}
		}
		return true
	}
}

func (b planner) mapping(t reflect.Type) plan {
	key, elem := t.Key(), t.Elem()
	if key.Kind() != reflect.String || reflect.PointerTo(key).Implements(textUnmarshalerType) {
		return nil
	}
	read := b.plan(elem)
	if read == nil {
		return nil
	}
	return func(r *reader, v reflect.Value) bool {
		if r.null() {
			v.SetZero()
			return true
		}
		empty, ok := r.open('{', '}')
		if !ok || !v.IsNil() {
			return false
		}
		v.Set(reflect.MakeMap(t))
		if empty {
			return true
		}
		k, e := reflect.New(key).Elem(), reflect.New(elem).Elem()
		for more := true; more; {
			s, ok := r.str()
			if !ok || r.peek() != ':' {
				return false
			}
			r.pos++
			k.SetString(s)
			e.SetZero()
			if !read(r, e) {
				return false
			}
			v.SetMapIndex(k, e)
			if more, ok = r.more('}'); !ok {
				return false
			}
		}
		return true
	}
}
