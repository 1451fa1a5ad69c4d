package wire

import (
	"context"
	"errors"
	"runtime"
	"sync"
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

// pipeline decodes the items of an answer on all cores and hands the events over in the order
// of the items. Decoding is most of the work of a list: splitting the body into items runs at
// memory speed, and has to be done in order, so one goroutine does it.
//
//	reading ─add─▶ chunk ─flush─▶ queue, in order ─────────────▶ take
//	                              └─▶ decoded, each on a goroutine of its own
//
// A chunk is queued when it is full, and before the reader has to wait for the network, so
// that an item that comes alone is there at once. The queue is bounded, and with it the
// goroutines and the memory: a slow taker applies backpressure to the server.
type pipeline[T Object] struct {
	decoder *decoder[T]

	queue chan *chunk[T]
	spare sync.Pool     // of chunks
	done  chan struct{} // closed by stop
	stop  func()
	alive sync.WaitGroup // the reader and the decoders

	// What follows belongs to the reader, and to the taker when queue is closed.

	err  error     // that has ended the reading
	cur  *chunk[T] // being filled
	next int       // position of the next item

	// What follows belongs to the taker.

	out *chunk[T] // being handed over
	at  int       // the next one of it
}

// chunk is some consecutive items, and then what has become of them. The items share one
// buffer, so a chunk of a hundred small objects costs few allocations, and none when it is
// used again.
type chunk[T Object] struct {
	first   int // position of the first item
	raw     []byte
	entries []entry[T]
	ready   chan struct{} // gets a value when the entries are decoded
}

// entry is an item, which has its bytes in the chunk, and what has become of it.
type entry[T Object] struct {
	item       item
	start, end int
	decoded    bool
	ev         Event[T]
	err        error
}

// newPipeline returns a pipeline for one run, whose first item has the given position. One
// chunk more than there are cores may be in the queue, so that a core which has finished one
// finds another.
func newPipeline[T Object](d *decoder[T], position int) *pipeline[T] {
	limit := runtime.GOMAXPROCS(0) + 1
	p := &pipeline[T]{decoder: d, next: position, queue: make(chan *chunk[T], limit), done: make(chan struct{})}
	p.stop = sync.OnceFunc(func() { close(p.done) })
	return p
}

// start runs read, which calls add and flush, on a goroutine of its own.
func (p *pipeline[T]) start(read func() error) {
	p.alive.Go(func() {
		p.err = read()
		// Items that were added before an error are handed over before it. If this fails, it
		// is because nobody takes any more.
		_ = p.flush()
		close(p.queue)
	})
}

// stopped reports whether the taker wants no more.
func (p *pipeline[T]) stopped() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// add appends the next item, whose bytes it copies. It waits while the queue is full. An
// event without an object is decoded here, as the bookmark that ends the initial events: the
// reader must see it.
func (p *pipeline[T]) add(it item) (Event[T], error) {
	if p.cur == nil {
		if p.cur, _ = p.spare.Get().(*chunk[T]); p.cur == nil {
			p.cur = &chunk[T]{ready: make(chan struct{}, 1)}
		}
		p.cur.first = p.next
	}
	c, e := p.cur, entry[T]{item: it}
	if e.decoded = !it.hasObject(); e.decoded {
		e.ev, e.err = p.decoder.event(it, p.next)
	} else {
		e.start = len(c.raw)
		c.raw = append(c.raw, it.raw...)
		e.end = len(c.raw)
	}
	e.item.raw = nil
	c.entries = append(c.entries, e)
	p.next++
	if len(c.raw) >= chunkBytes || len(c.entries) >= chunkItems {
		if err := p.flush(); err != nil {
			return e.ev, err
		}
	}
	return e.ev, e.err
}

// flush puts the chunk into the queue and has it decoded. It waits while the queue is full.
func (p *pipeline[T]) flush() error {
	c := p.cur
	if c == nil {
		return nil
	}
	p.cur = nil
	select {
	case p.queue <- c:
	case <-p.done:
		return errStopped
	}
	p.alive.Go(func() {
		c.decode(p)
		c.ready <- struct{}{}
	})
	return nil
}

// decode decodes the items of a chunk, up to an error that ends the run.
func (c *chunk[T]) decode(p *pipeline[T]) {
	for i := range c.entries {
		e := &c.entries[i]
		if !e.decoded {
			if p.stopped() {
				return
			}
			e.item.raw = c.raw[e.start:e.end:e.end]
			e.ev, e.err = p.decoder.event(e.item, c.first+i)
		}
		if e.err != nil {
			return
		}
	}
}

// take waits for the next event. It returns what read has returned, or
// errAllTaken, when there are no more.
func (p *pipeline[T]) take() (Event[T], error) {
	for p.out == nil || p.at == len(p.out.entries) {
		p.recycle()
		if err := p.receive(); err != nil {
			return Event[T]{}, err
		}
	}
	if p.stopped() {
		return Event[T]{}, errStopped
	}
	e := &p.out.entries[p.at]
	p.at++
	return e.ev, e.err
}

// receive waits for the next chunk, and until it is decoded.
func (p *pipeline[T]) receive() error {
	select {
	case <-p.done:
		return errStopped
	case c, ok := <-p.queue:
		if !ok {
			if p.err != nil {
				return p.err
			}
			return errAllTaken
		}
		select {
		case <-c.ready:
		case <-p.done:
			return errStopped
		}
		p.out, p.at = c, 0
	}
	return nil
}

// recycle keeps the chunk that was handed over for reuse, unless a huge item grew
// its buffer.
func (p *pipeline[T]) recycle() {
	c := p.out
	if p.out = nil; c == nil || cap(c.raw) > 4*chunkBytes {
		return
	}
	clear(c.entries) // it must not keep objects alive
	c.raw, c.entries = c.raw[:0], c.entries[:0]
	p.spare.Put(c)
}

// each runs read and hands all that comes of it to fn. If it fails, or fn does,
// it calls unblock, which has to make read return. Nothing runs on when it returns.
func (p *pipeline[T]) each(ctx context.Context, read func() error, unblock func(), fn func(Event[T]) error) (err error) {
	// Assumed until the regular end, so that a panic in fn also stops the reader: its
	// goroutine would otherwise block for ever on a full queue, with the connection.
	failed := true
	defer context.AfterFunc(ctx, p.stop)()
	defer func() {
		if failed {
			p.stop()
			unblock()
		}
		p.alive.Wait()
	}()
	p.start(read)
	for {
		ev, err := p.take()
		switch {
		case errors.Is(err, errAllTaken):
			failed = false
			return nil
		case errors.Is(err, errStopped):
			// Only the end of ctx calls stop while this loop runs, so the cause is
			// there.
			return context.Cause(ctx)
		case err != nil:
			return err
		}
		if err := fn(ev); err != nil {
			return err
		}
	}
}
