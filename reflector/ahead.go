package reflector

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
)

const (
	// parcelBytes and parcelItems are how much is decoded in one go: enough for
	// handing it to another goroutine to cost nothing, little enough to matter
	// to nobody's memory.
	parcelBytes = 64 << 10
	parcelItems = 128
)

var (
	errAllTaken = errors.New("all items are taken")
	errHalted   = errors.New("the reading was halted")
)

// ahead decodes a run of items on all cores and hands them over in their order.
//
//	reading ──add──▶ filling ──full──▶ queue of what others decode ──take──▶
//	                    └──── decoded by the taker, if it has nothing else ──▶
//
// One goroutine reads, another takes. The taker never waits for a parcel to fill
// up: as soon as it has nothing to do it takes what there is, so that an item
// that comes alone is there at once. The reader waits when the queue is longer
// than there are cores, so a slow taker bounds the memory, and slows down whoever
// sends.
type ahead[R any] struct {
	// decode makes a result of an item, on any goroutine. An error that is no
	// *ObjectError ends the run.
	decode func(raw []byte, position int) (R, error)
	limit  int            // parcels in the queue
	alive  sync.WaitGroup // the reader and those who decode
	halted atomic.Bool

	mu     sync.Mutex
	change sync.Cond    // of any field below
	cur    *parcel[R]   // being filled
	queue  []*parcel[R] // being decoded, in order
	bytes  int          // in the queue
	spare  []*parcel[R] // to be used again
	ended  bool         // the reading, with err
	err    error

	// What follows belongs to the reader or to the taker.

	next int        // reader: position of the next item
	warm bool       // reader: an item has been decoded
	out  *parcel[R] // taker: being handed over
	at   int        // taker: the next one of it
}

// parcel is some consecutive items, and then what has become of them.
type parcel[R any] struct {
	first   int // position of the first item
	raw     []byte
	ends    []int // of the items in raw
	results []result[R]
	done    bool
}

type result[R any] struct {
	value R
	err   error
}

func newAhead[R any](decode func(raw []byte, position int) (R, error)) *ahead[R] {
	a := &ahead[R]{decode: decode, limit: runtime.GOMAXPROCS(0) + 1}
	a.change.L = &a.mu
	return a
}

// start runs read, which calls add and put, on a goroutine of its own.
func (a *ahead[R]) start(read func() error) {
	a.alive.Go(func() {
		err := read()
		a.mu.Lock()
		defer a.mu.Unlock()
		a.ended, a.err = true, err
		a.change.Broadcast()
	})
}

// add takes over the next item, whose bytes it copies.
func (a *ahead[R]) add(raw []byte) error {
	if !a.warm {
		// The first good one may tell the decoder what the others have to be.
		value, err := a.decode(raw, a.next)
		a.warm = err == nil
		return a.put(value, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.room(); err != nil {
		return err
	}
	if a.cur == nil {
		a.cur = a.parcel()
	}
	p := a.cur
	p.raw = append(p.raw, raw...)
	p.ends = append(p.ends, len(p.raw))
	a.next++
	switch {
	case len(p.raw) >= parcelBytes || len(p.ends) >= parcelItems:
		a.dispatch()
	case len(p.ends) == 1:
		a.change.Broadcast() // the taker may have nothing else
	}
	return nil
}

// put takes over a result in place of the next item.
func (a *ahead[R]) put(value R, err error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.room(); err != nil {
		return err
	}
	if a.cur != nil {
		a.dispatch()
	}
	p := a.parcel()
	p.results = append(p.results, result[R]{value, err})
	p.done = true
	a.next++
	a.push(p)
	return nil
}

// room waits until there is room in the queue.
func (a *ahead[R]) room() error {
	for !a.halted.Load() && (len(a.queue) >= a.limit || a.bytes >= a.limit*parcelBytes) {
		a.change.Wait()
	}
	if a.halted.Load() {
		return errHalted
	}
	return nil
}

// parcel returns an empty one.
func (a *ahead[R]) parcel() *parcel[R] {
	p := &parcel[R]{}
	if n := len(a.spare); n > 0 {
		p, a.spare = a.spare[n-1], a.spare[:n-1]
	}
	p.first = a.next
	return p
}

// dispatch has the parcel decoded that was being filled.
func (a *ahead[R]) dispatch() {
	p := a.cur
	a.cur = nil
	a.push(p)
	a.alive.Go(func() {
		p.open(a)
		a.mu.Lock()
		defer a.mu.Unlock()
		p.done = true
		a.change.Broadcast()
	})
}

func (a *ahead[R]) push(p *parcel[R]) {
	a.queue = append(a.queue, p)
	a.bytes += len(p.raw)
	a.change.Broadcast()
}

// take waits for the next result. It returns what read has returned, or
// errAllTaken, when there are no more.
func (a *ahead[R]) take() (value R, err error) {
	for a.out == nil || a.at == len(a.out.results) {
		p, err := a.oldest()
		if err != nil {
			return value, err
		}
		if !p.done {
			p.open(a)
		}
		a.out, a.at = p, 0
	}
	if a.halted.Load() {
		return value, errHalted
	}
	r := a.out.results[a.at]
	a.at++
	return r.value, r.err
}

// oldest waits for the parcel with the next results, which may be one that is
// not decoded yet.
func (a *ahead[R]) oldest() (*parcel[R], error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.recycle()
	for {
		switch {
		case a.halted.Load():
			return nil, errHalted
		case len(a.queue) > 0 && a.queue[0].done:
			p := a.queue[0]
			a.queue[0], a.queue = nil, a.queue[1:]
			a.bytes -= len(p.raw)
			a.change.Broadcast()
			return p, nil
		case len(a.queue) > 0:
		case a.cur != nil:
			p := a.cur
			a.cur = nil
			return p, nil
		case a.ended && a.err == nil:
			return nil, errAllTaken
		case a.ended:
			return nil, a.err
		}
		a.change.Wait()
	}
}

// recycle keeps the parcel that was handed over, unless a giant has swollen it.
func (a *ahead[R]) recycle() {
	p := a.out
	if a.out = nil; p == nil || cap(p.raw) > 4*parcelBytes {
		return
	}
	clear(p.results) // whoever took them decides how long they live
	*p = parcel[R]{raw: p.raw[:0], ends: p.ends[:0], results: p.results[:0]}
	a.spare = append(a.spare, p)
}

// finish is for the taker that has taken the last result: it waits for the
// reader to end, and frees what is left.
func (a *ahead[R]) finish() {
	a.alive.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.out, a.cur, a.queue, a.spare = nil, nil, nil, nil
}

// halt makes everybody give up as soon as they can. What is being read has to be
// closed as well.
func (a *ahead[R]) halt() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.halted.Store(true)
	a.change.Broadcast()
}

// each runs read and hands all that comes of it to fn. If it fails, or fn does,
// it calls abort, which has to make read return. Nothing runs on when it returns.
func (a *ahead[R]) each(ctx context.Context, read func() error, abort func(), fn func(R, error) error) (err error) {
	failed := true // also by a panic
	defer context.AfterFunc(ctx, a.halt)()
	defer func() {
		if failed {
			a.halt()
			abort()
		}
		a.alive.Wait()
	}()
	a.start(read)
	for {
		value, err := a.take()
		switch {
		case err == nil, isObjectError(err):
		case errors.Is(err, errAllTaken):
			failed = false
			return nil
		case errors.Is(err, errHalted):
			return context.Cause(ctx)
		default:
			return err
		}
		if err := fn(value, err); err != nil {
			return err
		}
	}
}

// open decodes the items, up to one that says that the run is broken.
func (p *parcel[R]) open(a *ahead[R]) {
	start := 0
	for i, end := range p.ends {
		if a.halted.Load() {
			return
		}
		value, err := a.decode(p.raw[start:end:end], p.first+i)
		start = end
		p.results = append(p.results, result[R]{value, err})
		if err != nil && !isObjectError(err) {
			return
		}
	}
}
