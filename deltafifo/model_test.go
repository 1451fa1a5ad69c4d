package deltafifo

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/informerkit/informerkit/internal/object"
	"k8s.io/apimachinery/pkg/types"
)

// model is a naive implementation of the queue, to compare the real one with.
// Everything pending is one list of records in order of arrival; whatever is
// asked is found by looking through all of it, for each object again. A waiter is woken by
// every change. It is slow and hard to get wrong.
type model struct {
	isByObject bool
	known      *store // may be nil
	limit      int

	mu      sync.Mutex
	changed chan struct{} // closed and replaced at every change
	log     []record
	closed  bool
	popping bool

	inProcess                 []record
	populated, listed, synced bool
	records                   int
	waitFor                   map[int]bool // initial records that have yet to be processed
}

// record is a write.
type record struct {
	delta
	number  int
	putBack bool
}

func (r record) isList() bool   { return r.Type == Replaced && r.Object == nil }
func (r record) isResync() bool { return r.Type == Sync && r.Object == nil }

func newModel(isByObject bool, known *store, limit int) *model {
	return &model{isByObject: isByObject, known: known, limit: limit, changed: make(chan struct{}), waitFor: map[int]bool{}}
}

// when waits for a condition and returns with the model locked.
func (m *model) when(ctx context.Context, condition func() bool) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		m.mu.Lock()
		if condition() {
			return nil
		}
		changed := m.changed
		m.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

func (m *model) unlock() {
	close(m.changed)
	m.changed = make(chan struct{})
	m.mu.Unlock()
}

// write makes one write, once it may be made.
func (m *model) write(ctx context.Context, d delta, objs ...thing) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, obj := range objs {
		if obj == nil || obj.Name == "" {
			return ErrInvalidObject
		}
	}
	if err := m.when(ctx, func() bool { return m.closed || m.limit < 0 || len(m.log) < m.limit }); err != nil {
		return err
	}
	defer m.unlock()
	if m.closed {
		return ErrClosed
	}
	m.append(d, false)
	return nil
}

func (m *model) append(d delta, putBack bool) {
	m.records++
	m.log = append(m.log, record{d, m.records, putBack})
	if d.Type == Bookmark || d.Type == Sync {
		return
	}
	list := d.Type == Replaced && d.Object == nil
	if !m.populated || list && !m.listed {
		clear(m.waitFor)
		for _, r := range slices.Concat(m.inProcess, m.log) {
			m.waitFor[r.number] = true
		}
	}
	m.populated, m.listed = true, m.listed || list
}

func (m *model) writeObject(ctx context.Context, typ DeltaType, obj thing) error {
	d := delta{Type: typ, Object: obj}
	if obj != nil {
		d.Key = object.KeyOf(obj)
	}
	return m.write(ctx, d, obj)
}

func (m *model) Add(ctx context.Context, obj thing) error    { return m.writeObject(ctx, Added, obj) }
func (m *model) Update(ctx context.Context, obj thing) error { return m.writeObject(ctx, Updated, obj) }
func (m *model) Delete(ctx context.Context, obj thing) error { return m.writeObject(ctx, Deleted, obj) }

func (m *model) Bookmark(ctx context.Context, rv string) error {
	return m.write(ctx, delta{Type: Bookmark, ResourceVersion: rv})
}

func (m *model) Replace(ctx context.Context, objs []thing, rv string) error {
	return m.write(ctx, delta{Type: Replaced, Objects: objs, ResourceVersion: rv}, objs...)
}

func (m *model) Resync(ctx context.Context) error {
	return m.write(ctx, delta{Type: Sync})
}

func (m *model) AddIfNotPresent(deltas Deltas[thing]) error {
	if len(deltas) == 0 {
		return ErrInvalidObject
	}
	m.mu.Lock()
	defer m.unlock()
	if m.closed {
		return ErrClosed
	}
	if !slices.ContainsFunc(m.log, func(r record) bool { return r.isList() || r.Object != nil && r.Key == deltas[0].Key() }) {
		for _, d := range deltas {
			m.append(ofDelta(d), true)
		}
	}
	return nil
}

// placed is a delta and where it comes from: which record, and where in that.
type placed struct {
	delta
	record, within int
}

// group returns what the records mean for each object, in the order of its first change.
func (m *model) group(log []record) []delta {
	var lists [][]placed
	for _, key := range m.keys(log) {
		if list := m.changesOf(key, log); len(list) > 0 {
			lists = append(lists, list)
		}
	}
	slices.SortFunc(lists, func(a, b []placed) int {
		return cmp.Or(a[0].record-b[0].record, a[0].within-b[0].within)
	})
	var deltas []delta
	for _, list := range lists {
		for _, d := range list {
			deltas = append(deltas, d.delta)
		}
	}
	return deltas
}

// keys returns the keys of all objects in the records and in the store.
func (m *model) keys(log []record) []types.NamespacedName {
	var keys []types.NamespacedName
	see := func(obj thing) {
		if key := object.KeyOf(obj); !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	for _, r := range log {
		if r.Object != nil {
			see(r.Object)
		}
		for _, obj := range r.Objects {
			see(obj)
		}
	}
	if m.known != nil {
		for obj := range m.known.All() {
			see(obj)
		}
	}
	return keys
}

// changesOf returns what the records mean for one object.
func (m *model) changesOf(key types.NamespacedName, log []record) (list []placed) {
	stored, place := m.stored(key)
	for i, r := range log {
		last := delta{Object: stored}
		if n := len(list); n > 0 {
			last = list[n-1].delta
		}
		switch {
		case r.isResync() && len(list) == 0 && stored != nil:
			list = append(list, placed{delta{Type: Sync, Object: stored, Key: key}, i, place})
		case r.isList():
			listed := false
			for at, obj := range r.Objects {
				if object.KeyOf(obj) == key {
					listed = true
					list = append(list, placed{delta{Type: Replaced, Object: obj, Key: key, ResourceVersion: r.ResourceVersion}, i, at})
				}
			}
			if !listed && last.Type != Deleted && last.Object != nil {
				list = append(list, placed{delta{Type: Deleted, Object: last.Object, Key: key, FinalStateUnknown: true}, i, len(r.Objects) + place})
			}
		case r.Object == nil || r.Key != key:
		case r.Type != Deleted:
			list = append(list, placed{r.delta, i, 0})
		case last.Type == Deleted && last.FinalStateUnknown:
			list[len(list)-1].delta = r.delta
		case last.Type != Deleted && (last.Object != nil || r.putBack):
			list = append(list, placed{r.delta, i, 0})
		}
	}
	return list
}

// stored returns what the store has of an object, and its place in the order of the store.
func (m *model) stored(key types.NamespacedName) (thing, int) {
	if m.known == nil {
		return nil, 0
	}
	all := slices.Collect(m.known.All())
	i := slices.IndexFunc(all, func(obj thing) bool { return object.KeyOf(obj) == key })
	if i < 0 {
		return nil, 0
	}
	return all[i], i
}

func (m *model) pop(ctx context.Context, process func([]delta) error) error {
	if process == nil {
		return errors.New("nil process")
	}
	m.mu.Lock()
	if m.popping {
		m.mu.Unlock()
		return ErrConcurrentPop
	}
	m.popping = true
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		m.popping = false
		m.unlock()
	}()

	if err := m.when(ctx, func() bool { return m.closed || len(m.log) > 0 }); err != nil {
		return err
	}
	if len(m.log) == 0 {
		m.unlock()
		return ErrClosed
	}
	batch := m.log
	m.log, m.inProcess = nil, batch
	m.unlock()

	defer func() {
		m.mu.Lock()
		defer m.unlock()
		for _, r := range m.inProcess {
			delete(m.waitFor, r.number)
		}
		m.inProcess = nil
		m.synced = m.synced || m.populated && len(m.waitFor) == 0
	}()
	if m.isByObject {
		return process(m.group(batch))
	}
	return process(all(func(r record) delta { return r.delta }, batch))
}

// Known finds the last of all records about the object that the consumer has not
// finished, in order of arrival, or else looks into the store.
func (m *model) Known(key types.NamespacedName) (thing, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range slices.Backward(slices.Concat(m.inProcess, m.log)) {
		if r.Object != nil && r.Key == key {
			return r.Object, r.Type != Deleted
		}
		if !r.isList() {
			continue
		}
		for _, obj := range slices.Backward(r.Objects) {
			if object.KeyOf(obj) == key {
				return obj, true
			}
		}
		return nil, false
	}
	if m.known == nil {
		return nil, false
	}
	return m.known.Get(key)
}

func (m *model) HasSynced() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.synced
}

func (m *model) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.log)
}

func (m *model) Close() {
	m.mu.Lock()
	defer m.unlock()
	m.closed = true
}
