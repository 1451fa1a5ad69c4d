package reflector

import (
	"runtime"
	"time"
)

const (
	// parcelBytes and parcelItems are how much is decoded in one go: enough for
	// handing it to another goroutine to cost nothing, little enough to matter
	// to nobody's memory.
	parcelBytes = 64 << 10
	parcelItems = 128
	// parcelAge is how long an item may wait for others: with a slow server the
	// items are progress that somebody is waiting to see.
	parcelAge = 100 * time.Millisecond
)

// ahead decodes the items of a list on all cores and hands them over in their
// order, on the goroutine that reads the list. The first item, and a list of one
// parcel, are decoded right there.
type ahead[T Object] struct {
	decode func(raw []byte, position int) (T, error)
	each   func(T, error) error
	cur    *parcel[T]   // being filled
	queue  []*parcel[T] // being decoded, in order
	spare  []*parcel[T] // to be used again
	next   int          // position of the next item
}

// parcel is some consecutive items.
type parcel[T Object] struct {
	first int // position of the first item
	begun time.Time
	raw   []byte
	ends  []int // of the items in raw
	objs  []T
	errs  []error // nil if there are none
	done  chan struct{}
}

// add takes over the next item, whose bytes it copies.
func (a *ahead[T]) add(raw []byte) error {
	if a.cur == nil {
		a.cur = a.newParcel()
	}
	p := a.cur
	p.raw = append(p.raw, raw...)
	p.ends = append(p.ends, len(p.raw))
	a.next++
	if a.next == 1 || time.Since(p.begun) > parcelAge {
		return a.flush()
	}
	if len(p.raw) < parcelBytes && len(p.ends) < parcelItems {
		return nil
	}
	a.cur = nil
	a.queue = append(a.queue, p)
	go func() {
		p.open(a.decode)
		p.done <- struct{}{}
	}()
	if len(a.queue) <= runtime.GOMAXPROCS(0) {
		return nil
	}
	return a.deliver()
}

// flush hands over everything that is left.
func (a *ahead[T]) flush() error {
	for len(a.queue) > 0 {
		if err := a.deliver(); err != nil {
			return err
		}
	}
	if p := a.cur; p != nil {
		a.cur = nil
		p.open(a.decode)
		err := p.hand(a.each)
		a.recycle(p)
		return err
	}
	return nil
}

// wait lets the goroutines end whose results nobody wants any more.
func (a *ahead[T]) wait() {
	for _, p := range a.queue {
		<-p.done
	}
	a.queue = nil
}

// deliver hands over the oldest parcel.
func (a *ahead[T]) deliver() error {
	p := a.queue[0]
	a.queue = a.queue[1:]
	<-p.done
	err := p.hand(a.each)
	a.recycle(p)
	return err
}

func (a *ahead[T]) recycle(p *parcel[T]) {
	clear(p.objs) // the sink decides how long they live
	p.raw, p.ends, p.objs, p.errs = p.raw[:0], p.ends[:0], p.objs[:0], nil
	a.spare = append(a.spare, p)
}

func (a *ahead[T]) newParcel() *parcel[T] {
	if n := len(a.spare); n > 0 {
		p := a.spare[n-1]
		a.spare = a.spare[:n-1]
		p.first, p.begun = a.next, time.Now()
		return p
	}
	return &parcel[T]{first: a.next, begun: time.Now(), done: make(chan struct{}, 1)}
}

// open decodes the items, up to one that says that the list is broken.
func (p *parcel[T]) open(decode func([]byte, int) (T, error)) {
	start := 0
	for i, end := range p.ends {
		obj, err := decode(p.raw[start:end:end], p.first+i)
		start = end
		p.objs = append(p.objs, obj)
		if err == nil {
			continue
		}
		if p.errs == nil {
			p.errs = make([]error, len(p.ends))
		}
		p.errs[i] = err
		if !isObjectError(err) {
			return
		}
	}
}

// hand passes the items on.
func (p *parcel[T]) hand(each func(T, error) error) error {
	for i, obj := range p.objs {
		var err error
		if p.errs != nil {
			err = p.errs[i]
		}
		if err != nil && !isObjectError(err) {
			return err
		}
		if err := each(obj, err); err != nil {
			return err
		}
	}
	return nil
}
