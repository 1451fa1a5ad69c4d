package deltafifo

// pool makes the elements of a DeltaFIFO in pages, and keeps those that are put back
// for the next ones. So a steady load allocates none, and a burst one page for so many.
//
// It keeps no more than maxKept; what is put back beyond that is left to the garbage
// collector. A page is released with the last of its elements, so an empty queue that
// had needed more than maxKept calls release.
type pool[E any] struct {
	free []*E
	made int // elements, since it was last released
}

// perPage is how many elements are allocated at once.
const perPage = 16

// get returns an element that is zero.
func (p *pool[E]) get() *E {
	if len(p.free) == 0 {
		page := make([]E, perPage)
		for i := range page {
			p.free = append(p.free, &page[i])
		}
		p.made += perPage
	}
	last := len(p.free) - 1
	e := p.free[last]
	p.free[last] = nil
	p.free = p.free[:last]
	return e
}

// put clears e, so that it keeps no object alive, and keeps it for get.
func (p *pool[E]) put(e *E) {
	var zero E
	*e = zero
	if len(p.free) < maxKept {
		p.free = append(p.free, e)
	}
}

// release leaves all elements to the garbage collector if more than maxKept have been
// made, and reports whether. None may be in use.
func (p *pool[E]) release() bool {
	if p.made <= maxKept {
		return false
	}
	*p = pool[E]{}
	return true
}
