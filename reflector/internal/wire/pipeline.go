package wire

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
)

const (
	// chunkBytes and chunkItems are how much is decoded in one go: enough for
	// handing it to another goroutine to cost nothing, and too little for its
	// memory to matter.
	chunkBytes = 64 << 10
	// A list of small objects reaches the number before the bytes. Without it, some
	// hundreds of tiny objects would wait for one goroutine while other cores are idle.
	chunkItems = 128
)

var (
	errAllTaken = errors.New("all items are taken")
	errStopped  = errors.New("the reading was stopped")
)

// pipeline decodes a run of items on all cores and hands them over in their order.
// Decoding is most of the work of a list: splitting the body into items runs at
// memory speed, and has to be done in order, so one goroutine does it.
//
//	reading ──add──▶ filling ──full──▶ queue of what others decode ──take──▶
//	                    └──── decoded by the taker, if it has nothing else ──▶
//
// One goroutine reads, another takes. The taker never waits for a chunk to fill
// up: as soon as it has nothing to do it takes what there is, so that an item
// that comes alone is there at once. The reader waits when the queue is longer
// than there are cores, which bounds the memory, so a slow taker applies backpressure to
// the server.
//
// One lock and one condition serve both sides. They are taken once per item by the
// reader and once per chunk by the taker, which is little beside decoding an object. The
// bytes of an item are copied into its chunk, so that the reader can go on while the
// item is decoded.
type pipeline[R any] struct {
	// decode turns an item into a result, on any goroutine. An error that is no
	// *ObjectError ends the run.
	decode func(raw []byte, position int) (R, error)
	// unchanged are items of a list that need not be decoded; nil: there are none.
	unchanged *unchangedObjects

	limit int            // chunks in the queue
	alive sync.WaitGroup // the reader and the decoders
	// stopped is atomic for take, which looks at it for each result without the lock. It
	// is set with mu held, so that no waiter misses the wake-up.
	stopped atomic.Bool

	mu     sync.Mutex
	change sync.Cond // of any field below
	// cur belongs to the goroutine that clears this field: to the reader when the chunk
	// is full, or to the taker when there is nothing older. Exactly one of them decodes
	// it.
	cur   *chunk[R]   // being filled
	queue []*chunk[R] // being decoded, in order
	bytes int         // in the queue
	spare []*chunk[R] // to be used again
	idle  bool        // the taker waits, and there is nothing
	ended bool        // the reading, with err
	err   error

	// What follows belongs to the reader or to the taker.

	next int       // reader: position of the next item
	warm bool      // reader: an item has been decoded
	out  *chunk[R] // taker: being handed over
	at   int       // taker: the next one of it
}

// chunk is some consecutive items, and then what has become of them.
//
// The items share one buffer and one slice of ends, so a chunk of a hundred small
// objects costs few allocations, and none when it is used again.
type chunk[R any] struct {
	first   int // position of the first item
	raw     []byte
	ends    []int // of the items in raw
	results []result[R]
	done    bool
}

// result is what decoding has made of one item: a value, or an error that may concern
// this item only.
type result[R any] struct {
	value R
	err   error
}

// newPipeline returns a pipeline for one run. One chunk more than there are cores may be
// in the queue, so that a core which has finished one finds another.
func newPipeline[R any](decode func(raw []byte, position int) (R, error)) *pipeline[R] {
	a := &pipeline[R]{decode: decode, limit: runtime.GOMAXPROCS(0) + 1}
	a.change.L = &a.mu
	return a
}

// start runs read, which calls add and put, on a goroutine of its own.
func (a *pipeline[R]) start(read func() error) {
	a.alive.Go(func() {
		err := read()
		a.mu.Lock()
		defer a.mu.Unlock()
		// The items added before the end are still to be taken: oldest looks at ended
		// only when the queue and cur are empty.
		a.ended, a.err = true, err
		a.change.Broadcast()
	})
}

// add appends the next item, whose bytes it copies: those it is given belong to the
// lexer, which reuses them. It waits while the queue is full.
func (a *pipeline[R]) add(raw []byte) error {
	if !a.warm {
		// Decoded here, before any other: if T does not say the kind, the first good one
		// does, and later ones are compared with it. On several goroutines "first" would
		// be a matter of luck.
		value, err := a.decode(raw, a.next)
		a.warm = err == nil || isUnchanged(err)
		return a.put(value, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.waitForRoomLocked(); err != nil {
		return err
	}
	if a.cur == nil {
		a.cur = a.emptyChunkLocked()
	}
	p := a.cur
	// Only the reader appends, and with mu held, so the taker may take the chunk between
	// two items, but not within one.
	p.raw = append(p.raw, raw...)
	p.ends = append(p.ends, len(p.raw))
	a.next++
	switch {
	case len(p.raw) >= chunkBytes || len(p.ends) >= chunkItems:
		a.dispatchLocked()
	case len(p.ends) == 1:
		a.change.Broadcast() // the taker may have nothing else
	}
	return nil
}

// put appends a result in place of the next item: an error for an item that must not
// be decoded, or an event that has no object.
func (a *pipeline[R]) put(value R, err error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.waitForRoomLocked(); err != nil {
		return err
	}
	if a.cur != nil {
		// What was added before must be handed over before: the queue is in the order of
		// the items.
		a.dispatchLocked()
	}
	p := a.emptyChunkLocked()
	p.results = append(p.results, result[R]{value, err})
	p.done = true
	a.next++
	a.pushLocked(p)
	return nil
}

// waitForRoomLocked waits until the queue has room. It holds a.mu on return, and
// releases it while it waits.
func (a *pipeline[R]) waitForRoomLocked() error {
	// Both bounds are needed: huge items make few chunks of many bytes, tiny ones and
	// single results many chunks of few bytes.
	for !a.stopped.Load() && (len(a.queue) >= a.limit || a.bytes >= a.limit*chunkBytes) {
		a.change.Wait()
	}
	if a.stopped.Load() {
		return errStopped
	}
	return nil
}

// emptyChunkLocked returns a chunk for the next items, used before if there is one.
// a.mu is held.
func (a *pipeline[R]) emptyChunkLocked() *chunk[R] {
	p := &chunk[R]{}
	if n := len(a.spare); n > 0 {
		p, a.spare = a.spare[n-1], a.spare[:n-1]
	}
	p.first = a.next
	return p
}

// dispatchLocked puts the chunk that was being filled into the queue and decodes it
// on a goroutine of its own. The queue is bounded, and so are these goroutines. a.mu
// is held.
func (a *pipeline[R]) dispatchLocked() {
	p := a.cur
	// With cur cleared the chunk cannot be taken by the taker as well.
	a.cur = nil
	a.pushLocked(p)
	a.alive.Go(func() {
		p.decode(a)
		a.mu.Lock()
		defer a.mu.Unlock()
		p.done = true
		a.change.Broadcast()
	})
}

// pushLocked appends a chunk to the queue and wakes the taker. a.mu is held.
func (a *pipeline[R]) pushLocked(p *chunk[R]) {
	a.queue = append(a.queue, p)
	a.bytes += len(p.raw)
	a.change.Broadcast()
}

// take waits for the next result. It returns what read has returned, or
// errAllTaken, when there are no more.
func (a *pipeline[R]) take() (value R, err error) {
	for a.out == nil || a.at == len(a.out.results) {
		p, err := a.oldest()
		if err != nil {
			return value, err
		}
		if !p.done {
			// Only a chunk that was still being filled gets here. Decoding it on this
			// goroutine delays no other result, since there was none older.
			p.decode(a)
		}
		a.out, a.at = p, 0
	}
	if a.stopped.Load() {
		return value, errStopped
	}
	r := a.out.results[a.at]
	a.at++
	return r.value, r.err
}

// oldest waits for the chunk with the next results, which may be one that is
// not decoded yet.
func (a *pipeline[R]) oldest() (*chunk[R], error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	// The caller has consumed the previous chunk when it asks for the next one.
	a.recycleLocked()
	for {
		switch {
		case a.stopped.Load():
			return nil, errStopped
		case len(a.queue) > 0 && a.queue[0].done:
			p := a.queue[0]
			a.queue[0], a.queue = nil, a.queue[1:]
			a.bytes -= len(p.raw)
			a.change.Broadcast()
			return p, nil
		case len(a.queue) > 0:
			// Others decode what is next.
		case a.cur != nil:
			p := a.cur
			a.cur = nil
			return p, nil
		case a.ended && a.err == nil:
			return nil, errAllTaken
		case a.ended:
			return nil, a.err
		}
		a.idle = len(a.queue) == 0
		a.change.Wait()
		a.idle = false
	}
}

// starved reports whether the taker waits for the reader, rather than for a decoder.
func (a *pipeline[R]) starved() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.idle && a.cur == nil && len(a.queue) == 0
}

// recycleLocked keeps the chunk that was handed over for reuse, unless a huge item grew
// its buffer. a.mu is held.
func (a *pipeline[R]) recycleLocked() {
	p := a.out
	if a.out = nil; p == nil || cap(p.raw) > 4*chunkBytes {
		return
	}
	clear(p.results) // the pipeline must not keep objects alive
	*p = chunk[R]{raw: p.raw[:0], ends: p.ends[:0], results: p.results[:0]}
	a.spare = append(a.spare, p)
}

// drain is for the taker that has taken the last result: it waits for the reader
// to end, and frees what is left.
func (a *pipeline[R]) drain() {
	a.alive.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.out, a.cur, a.queue, a.spare = nil, nil, nil, nil
}

// stop ends the reader, the decoders and the taker at their next step. A Read in
// progress is not one of these: the caller closes the body as well.
func (a *pipeline[R]) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stopped.Store(true)
	a.change.Broadcast()
}

// each runs read and hands all that comes of it to fn. If it fails, or fn does,
// it calls unblock, which has to make read return. Nothing runs on when it returns.
func (a *pipeline[R]) each(ctx context.Context, read func() error, unblock func(), fn func(R, error) error) (err error) {
	// Assumed until the regular end, so that a panic in fn also stops the reader: its
	// goroutine would otherwise block for ever on a full queue, with the connection.
	failed := true // also by a panic
	defer context.AfterFunc(ctx, a.stop)()
	defer func() {
		if failed {
			a.stop()
			unblock()
		}
		a.alive.Wait()
	}()
	// From here on the reader, the decoders and this goroutine run at the same time.
	a.start(read)
	for {
		value, err := a.take()
		switch {
		case err == nil, concernsOne(err):
		case errors.Is(err, errAllTaken):
			failed = false
			return nil
		case errors.Is(err, errStopped):
			// Only the end of ctx calls stop while this loop runs, so the cause is
			// there.
			return context.Cause(ctx)
		default:
			return err
		}
		if err := fn(value, err); err != nil {
			return err
		}
	}
}

// decode decodes the items of a chunk, up to an error that ends the run. It runs
// without the lock: the chunk belongs to one goroutine until it is done.
func (p *chunk[R]) decode(a *pipeline[R]) {
	start := 0
	for i, end := range p.ends {
		if a.stopped.Load() {
			return
		}
		value, err := a.decode(p.raw[start:end:end], p.first+i)
		start = end
		p.results = append(p.results, result[R]{value, err})
		if err != nil && !concernsOne(err) {
			return
		}
	}
}
