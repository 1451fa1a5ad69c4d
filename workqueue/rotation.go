package workqueue

// rotation selects the priority class that is served next. In general that is
// the most urgent one with items. Every fourth hand-out goes to a class whose
// oldest item is overdue, if there is one; several such classes take turns.
//
//	class 0    x x x   x x x   x x x   x x x      a flood of urgent items
//	class 1          y               y            overdue
//	class 2                  z               z    overdue
//
// Both promises follow from the two fields:
//
//   - Between two overdue turns there are three hand-outs to the most urgent
//     class, because an overdue turn sets urgent to 0.
//   - While a class is overdue, every fourth hand-out at the latest is an overdue
//     turn. Each of these moves last, in a circle, to the next overdue class. So
//     it gets to every one of them within as many turns as there are classes that
//     can be overdue: all but class 0.
//
// Class 0 takes no part in the overdue turns: it is the most urgent whenever it
// has items. The others do even while they are the most urgent. Else, if more
// urgent items came and went at the wrong moments, a class could miss both the
// overdue turns and the others.
type rotation struct {
	urgent int // hand-outs since the last overdue turn, at most overdueEvery-1
	last   int // class that had the last overdue turn
}

// overdueEvery is of how many hand-outs one goes to an overdue class.
const overdueEvery = 4

// newRotation returns a rotation whose first overdue turn is due at once.
func newRotation() rotation { return rotation{urgent: overdueEvery - 1} }

// nextClass returns the class to serve now; at least one must have entries.
func nextClass[T comparable](r *rotation, classes []class[T], now int64) *class[T] {
	if r.urgent < overdueEvery-1 {
		r.urgent++
	} else if c := nextOverdue(r, classes, now); c != nil {
		return c
	}
	i := 0
	for classes[i].head == nil {
		i++
	}
	return &classes[i]
}

// nextOverdue gives an overdue turn to the next class that has an overdue entry.
// It returns nil if there is none.
func nextOverdue[T comparable](r *rotation, classes []class[T], now int64) *class[T] {
	i := r.last
	for range len(classes) - 1 {
		if i++; i == len(classes) {
			i = 1
		}
		if c := &classes[i]; c.head != nil && c.head.at <= now {
			r.urgent, r.last = 0, i
			return c
		}
	}
	return nil
}
