package deltafifo

import "time"

const (
	firstDeltas = 4           // what the first delta allocates: often the only one is a list
	idleDeltas  = 64          // the largest buffer that an idle queue keeps
	idleAfter   = time.Second // how long a consumer waits until the queue is idle
)

// buffers is a double buffer: producers fill one while the consumer works on
// the other, and then they are exchanged. In a steady state nothing is
// allocated, as both have grown to what is needed.
//
//	producers ──▶ [ fill: d d d d · · · · ]          take: fill ⇄ spare
//	consumer  ◀── [ in process: d d d · · ]          recycle: cleared, becomes spare
//
// The spare one is touched by the consumer alone; fill is guarded by the mutex
// of the queue.
type buffers[T Object] struct {
	fill  []Delta[T]
	spare []Delta[T]
	// busy is a fading memory of how long batches are: it rises at once and falls
	// by 1/64 with each shorter batch. A buffer far larger than that, as some 90
	// short batches after a burst, is let go.
	busy int
}

// next returns the slot of the next delta. The slot is zero.
func (b *buffers[T]) next() *Delta[T] {
	n := len(b.fill)
	if n == cap(b.fill) {
		// append grows large slices by a quarter, which copies each delta four
		// times on the way; doubling copies it once.
		grown := make([]Delta[T], n, max(firstDeltas, 2*n))
		copy(grown, b.fill)
		b.fill = grown
	}
	b.fill = b.fill[:n+1]
	return &b.fill[n]
}

// take exchanges the buffers and returns the filled one. The slots between its
// length and its capacity are zero and must remain so.
func (b *buffers[T]) take() []Delta[T] {
	batch := b.fill
	b.fill, b.spare = b.spare, nil
	return batch
}

// recycle clears the batch, so that it holds on to no object, and keeps its
// memory if that is in proportion to what is used.
func (b *buffers[T]) recycle(batch []Delta[T]) {
	clear(batch)
	b.busy = max(len(batch), b.busy-b.busy/64-1)
	if c := cap(batch); c <= idleDeltas || c <= 4*b.busy {
		b.spare = batch[:0]
	}
}

// large reports whether trim would do something.
func (b *buffers[T]) large() bool {
	return cap(b.fill) > idleDeltas || cap(b.spare) > idleDeltas
}

// trim is called when the consumer has had nothing to do for a while. A burst
// may have been the last thing for hours, so only small buffers are kept. The
// fill buffer must be empty.
func (b *buffers[T]) trim() {
	if cap(b.fill) > idleDeltas {
		b.fill = nil
	}
	if cap(b.spare) > idleDeltas {
		b.spare = nil
	}
}
