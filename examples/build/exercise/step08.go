package exercise

import "time"

// Queue hands out urgent items before others, but of four in a row at least one that is not
// urgent, if there is one. (Exercise 8.1)
type Queue struct {
	items []string
}

// Add adds an item.
func (q *Queue) Add(item string, urgent bool) {
	_ = urgent
	q.items = append(q.items, item)
}

// Get returns the next item, if there is one.
func (q *Queue) Get() (item string, ok bool) {
	if len(q.items) == 0 {
		return "", false
	}
	item, q.items = q.items[0], q.items[1:]
	return item, true
}

// Delays holds items until their time. The earliest counts, if there are several for an
// item. (Exercise 8.2)
type Delays map[string]time.Time

// Add adds an item.
func (d Delays) Add(item string, due time.Time) {
	d[item] = due
}
