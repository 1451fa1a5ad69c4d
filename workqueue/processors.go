package workqueue

// processors are the calls of ProcessWith that work on one queue. One that stops
// leaves the queue to the others; the last one shuts it down.
type processors struct {
	n    int    // at work
	last uint16 // number of the one that came last
}

// nobody holds the items that were taken by Get.
const nobody = 0

// join counts one more ProcessWith and returns its number. Numbers are used
// again after 65,535 calls; they only have to differ among those at work.
func (q *engine[T]) join() uint16 {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.processors.n++
	if q.processors.last++; q.processors.last == nobody {
		q.processors.last++
	}
	return q.processors.last
}

// leave counts one less and reports whether it was the last.
func (q *engine[T]) leave() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.processors.n--
	return q.processors.n == 0
}
