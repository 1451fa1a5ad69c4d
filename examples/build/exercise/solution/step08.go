package solution

import "time"

// Queue hands out urgent items before others, but of four in a row at least one that is not
// urgent, if there is one. (Exercise 8.1)
type Queue struct {
	urgent, others []string
	inARow         int // urgent ones
}

// Add adds an item.
func (q *Queue) Add(item string, urgent bool) {
	if urgent {
		q.urgent = append(q.urgent, item)
	} else {
		q.others = append(q.others, item)
	}
}

// Get returns the next item, if there is one.
func (q *Queue) Get() (item string, ok bool) {
	from := &q.urgent
	if len(q.urgent) == 0 || q.inARow == 3 && len(q.others) > 0 {
		from, q.inARow = &q.others, 0
	} else {
		q.inARow = min(q.inARow+1, 3)
	}
	if len(*from) == 0 {
		return "", false
	}
	item, *from = (*from)[0], (*from)[1:]
	return item, true
}

// Delays holds items until their time. The earliest counts, if there are several for an
// item. (Exercise 8.2)
type Delays map[string]time.Time

// Add adds an item.
func (d Delays) Add(item string, due time.Time) {
	if old, ok := d[item]; !ok || due.Before(old) {
		d[item] = due
	}
}
