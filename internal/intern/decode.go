package intern

import (
	"bytes"
	"sync/atomic"
	"unsafe"
	"weak"
)

// A walk needs an object, so a decoder has to make all of it first, and most of that is
// garbage as soon as the walk has replaced it. The text that a parser is about to read says
// the same earlier: if it is that of the last object in the same place, the value is the
// same, and need not be made.
//
//	the last object   …"env":[{"name":"A","value":"1"}],"image":…
//	                         └──────── text ─────────┘ ──▶ its part in the pool
//	this object       …"env":[{"name":"A","value":"1"}],"image":…
//	                         └─────── the same ──────┘     used again, not parsed
//
// A value whose text differs is parsed and looked up as in a walk. By then the parts in it
// have been shared: a parser finishes the smallest ones first, while a walk looks the
// largest ones up first. Both share the same parts in the end.

const (
	// maxText is the length of a text that is kept. Of a longer value the parts are kept
	// one by one.
	maxText = 8 << 10
	// maxTexts is from how many bytes of texts on a worker forgets all of them, to learn
	// them again: as many as the objects have that it decodes in one go.
	maxTexts = 64 << 10
)

// Decoding interns the values of one unstructured object while a parser makes them. It
// is used by one goroutine, which ends it with End.
type Decoding struct {
	in *Interner
	w  *worker
	// before is what the worker kept when it began.
	before int
}

// Place is where in unstructured objects a value is: a path of fields, with one place for
// all elements of a list. The zero Place is nowhere: what is there is not interned.
type Place struct{ schema *schema }

// Nowhere reports whether p is the zero Place.
func (p Place) Nowhere() bool { return p.schema == nil }

// kept is a text and what it has become.
type kept struct {
	text []byte // of the JSON value; empty for none
	part *entry
	typ  unsafe.Pointer // of the value in an interface
	size uintptr
}

// keptBytes is the memory of a kept but for its text.
const keptBytes = int(unsafe.Sizeof(kept{}))

// texts is the memory of what the workers of one interner keep, as the figures of the pool
// count it. It does not keep the pool alive.
type texts struct {
	pool  weak.Pointer[Pool]
	bytes atomic.Int64
}

// gone takes them off the figures, when the interner has been collected.
func (t *texts) gone() {
	if p := t.pool.Value(); p != nil {
		p.texts.Add(-t.bytes.Load())
	}
}

// Decode begins to intern an object, and returns the place of its fields. That is nowhere
// if in is nil, if its objects are not unstructured, or if more goroutines decode at once
// than it has workers: Intern is for these.
func (in *Interner) Decode() (Decoding, Place) {
	if in == nil || in.fields == nil || in.endless.Load() >= maxEndless {
		return Decoding{}, Place{}
	}
	w := in.freeWorker()
	if w == nil {
		return Decoding{}, Place{}
	}
	return in.decodeWith(w)
}

// decodeWith begins an object with a worker, which is locked.
func (in *Interner) decodeWith(w *worker) (Decoding, Place) {
	w.begin(in.pool, in.visits)
	return Decoding{in, w, w.kept}, Place{in.fields}
}

// End ends the decoding of the object, complete or not.
func (d Decoding) End() {
	if d.w == nil {
		return
	}
	defer d.w.mu.Unlock()
	if n := d.w.kept - d.before; n != 0 {
		d.in.texts.bytes.Add(int64(n))
		d.in.pool.texts.Add(int64(n))
	}
	d.in.settle(&d.w.walk)
}

// Field returns the place of a field of the map in the place p, and its name in the
// memory that all objects share; that is empty if the name is to be shared by Name. The
// bytes of the name are not retained.
func (d Decoding) Field(p Place, name []byte) (string, Place) {
	f := p.schema.field(unsafe.String(unsafe.SliceData(name), len(name)))
	return f.name, Place{f.schema}
}

// Name returns the name of a field, or an equal one of the pool.
func (d Decoding) Name(p Place, name string) string { return d.w.text(p.schema.tree.key, name) }

// Element returns the place of the elements of the list in the place p.
func (d Decoding) Element(p Place) Place { return Place{p.schema.elem()} }

// Known returns the value that text begins with, and of how many bytes it is made: 0 if
// that is not known. at is the position in the innermost list. worth is whether the value
// should be given to Share when it has been parsed.
//
// The value in text must begin with a quote, a brace or a bracket: these say themselves
// where they end, so that no text of such a value is the beginning of another one's.
func (d Decoding) Known(p Place, at int, text []byte) (v any, n int, worth bool) {
	l := d.w.local(p.schema.site)
	if !l.enabled(p.schema.site) {
		l.leave(1)
		d.w.release(l) // they would take the room of others
		return nil, 0, false
	}
	at %= len(l.last)
	if at >= len(l.kept) {
		return nil, 0, true
	}
	k := &l.kept[at]
	if len(k.text) == 0 || !bytes.HasPrefix(text, k.text) {
		return nil, 0, true
	}
	part := unsafe.Pointer(k.part.part.Value())
	if part == nil { // no object has it any more
		return nil, 0, true
	}
	d.w.found++
	l.found(p.schema.site, k.size)
	*(*words)(unsafe.Pointer(&v)) = words{k.typ, part}
	return v, len(k.text), true
}

// Share returns v, which was parsed of text, or an equal value of the pool. The parts in
// it have been shared already. The text is not retained.
func (d Decoding) Share(p Place, at int, v any, text []byte) any {
	s, w := p.schema, &d.w.walk
	id, size := s.tree.partOf(v)
	if size == 0 {
		return v
	}
	l := w.local(s.site)
	w.at = at
	shared, e, h := w.lookUp(s, l, v, id, size)
	if shared == nil {
		if w.bad || e == nil && size < worthAtOnce {
			return v
		}
		shared, _ = settleAny(v)
		e = w.pool.add(h, id.id, (*words)(unsafe.Pointer(&shared)).data, 0)
	}
	if e != nil && s != s.tree.rest {
		d.w.keep(l, at%len(l.last), text, kept{part: e, typ: (*words)(unsafe.Pointer(&shared)).typ, size: size})
	}
	return shared
}

// Whole returns the fields of an object that was decoded with Decode, or the equal ones
// of another object. It is called last: nobody may modify them any more.
func (in *Interner) Whole(fields map[string]any) map[string]any {
	if in.fields == nil || in.endless.Load() >= maxEndless {
		return fields
	}
	d, p := in.decodeWith(in.worker())
	defer d.End()
	l := d.w.local(p.schema.site)
	if !l.enabled(p.schema.site) {
		l.leave(1)
		return fields
	}
	return d.Share(p, 0, fields, nil).(map[string]any) //nolint:forcetypeassert // it equals one
}

// keep remembers what text has become. Its bytes are copied to where those of the last
// text were.
func (w *worker) keep(l *local, at int, text []byte, k kept) {
	if len(text) == 0 || len(text) > maxText {
		return
	}
	if w.kept > maxTexts {
		w.forget()
	}
	for at >= len(l.kept) {
		l.kept = append(l.kept, kept{})
		w.kept += keptBytes
	}
	old := &l.kept[at]
	w.kept -= cap(old.text)
	k.text = append(old.text[:0], text...)
	w.kept += cap(k.text)
	*old = k
}

// forget frees all texts.
func (w *worker) forget() {
	for _, l := range w.locals {
		if l != nil {
			w.release(l)
		}
	}
}

// release frees the texts of one place.
func (w *worker) release(l *local) {
	for i := range l.kept {
		w.kept -= keptBytes + cap(l.kept[i].text)
	}
	l.kept = nil
}
