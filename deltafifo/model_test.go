package deltafifo

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/informerkit/informerkit/internal/object"
	"k8s.io/apimachinery/pkg/types"
)

// model is a naive implementation of both queues, to compare the real ones with.
// Everything pending is one list of deltas in order of arrival; whatever is
// asked is found by looking through all of it. A waiter is woken by every
// change. It is slow and hard to get wrong.
type model struct {
	isDeltaFIFO bool
	known       *store // may be nil
	limit       int

	mu      sync.Mutex
	changed chan struct{} // closed and replaced at every change
	log     []delta
	closed  bool
	popping bool

	// DeltaFIFO
	synced            chan struct{}
	inProcess         []delta
	populated, listed bool
	waitFor           map[types.NamespacedName]int // how often each initial object has yet to be processed
}

func newModel(isDeltaFIFO bool, known *store, limit int) *model {
	return &model{
		isDeltaFIFO: isDeltaFIFO, known: known, limit: limit,
		changed: make(chan struct{}), synced: make(chan struct{}), waitFor: map[types.NamespacedName]int{},
	}
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
func (m *model) write(ctx context.Context, list bool, valid []thing, do func()) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, obj := range valid {
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
	do()
	m.populate(list)
	return nil
}

func (m *model) Add(ctx context.Context, obj thing) error {
	return m.write(ctx, false, []thing{obj}, func() { m.append(delta{Type: Added, Object: obj, Key: object.KeyOf(obj)}) })
}

func (m *model) Update(ctx context.Context, obj thing) error {
	return m.write(ctx, false, []thing{obj}, func() { m.append(delta{Type: Updated, Object: obj, Key: object.KeyOf(obj)}) })
}

func (m *model) Delete(ctx context.Context, obj thing) error {
	return m.write(ctx, false, []thing{obj}, func() {
		if !m.isDeltaFIFO || m.state(object.KeyOf(obj)).exists {
			m.append(delta{Type: Deleted, Object: obj, Key: object.KeyOf(obj)})
		}
	})
}

func (m *model) DeleteFinalStateUnknown(ctx context.Context, d DeletedFinalStateUnknown[thing]) error {
	if d.Key.Name == "" {
		return ErrInvalidObject
	}
	return m.write(ctx, false, nil, func() {
		if m.state(d.Key).exists {
			m.append(delta{Type: Deleted, Object: d.Object, Key: d.Key, FinalStateUnknown: true})
		}
	})
}

func (m *model) Bookmark(ctx context.Context, rv string) error {
	if m.isDeltaFIFO {
		if err := ctx.Err(); err != nil {
			return err
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.closed {
			return ErrClosed
		}
		return nil
	}
	return m.write(ctx, false, nil, func() { m.append(delta{Type: Bookmark, ResourceVersion: rv}) })
}

func (m *model) Replace(ctx context.Context, objs []thing, rv string) error {
	return m.write(ctx, true, objs, func() {
		if !m.isDeltaFIFO {
			m.append(delta{Type: Replaced, Objects: objs, ResourceVersion: rv})
			return
		}
		var tombstones []delta
		for _, key := range m.everything() {
			last := m.state(key)
			isListed := slices.ContainsFunc(objs, func(obj thing) bool { return object.KeyOf(obj) == key })
			if !isListed && last.exists && !last.ends {
				tombstones = append(tombstones, delta{Type: Deleted, Object: last.obj, Key: key, FinalStateUnknown: true})
			}
		}
		for _, obj := range objs {
			m.append(delta{Type: Replaced, Object: obj, Key: object.KeyOf(obj), ResourceVersion: rv})
		}
		for _, d := range tombstones {
			m.append(d)
		}
	})
}

func (m *model) Resync(ctx context.Context) error {
	if m.known == nil {
		return m.Bookmark(ctx, "")
	}
	if err := m.when(ctx, func() bool { return m.closed || m.limit < 0 || len(m.log) < m.limit }); err != nil {
		return err
	}
	defer m.unlock()
	if m.closed {
		return ErrClosed
	}
	for obj := range m.known.All() {
		key := object.KeyOf(obj)
		if len(m.queued(key)) == 0 && (len(m.inProcess) == 0 || m.inProcess[0].Key != key) {
			m.append(delta{Type: Sync, Object: obj, Key: key})
		}
	}
	return nil
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
	if len(m.queued(deltas[0].Key)) == 0 {
		m.log = append(m.log, all(ofDelta, deltas)...)
	}
	m.populate(false)
	return nil
}

// lastState is what the consumer has, or will have when it has caught up.
type lastState struct {
	exists bool // in the sense of Delete
	ends   bool // its newest queued delta is a deletion
	obj    thing
}

func (m *model) state(key types.NamespacedName) lastState {
	if queued := m.queued(key); len(queued) > 0 {
		last := queued[len(queued)-1]
		return lastState{exists: true, ends: last.Type == Deleted, obj: last.Object}
	}
	if m.known == nil {
		return lastState{}
	}
	if n := len(m.inProcess); n > 0 && m.inProcess[0].Key == key {
		return lastState{exists: m.inProcess[n-1].Type != Deleted, obj: m.inProcess[n-1].Object}
	}
	obj, ok := m.known.Get(key)
	return lastState{exists: ok, obj: obj}
}

// everything returns the keys of all that is queued, in process or known, in
// the order in which Replace looks at them.
func (m *model) everything() []types.NamespacedName {
	keys := m.keys()
	see := func(key types.NamespacedName) {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	if len(m.inProcess) > 0 {
		see(m.inProcess[0].Key)
	}
	if m.known != nil {
		for obj := range m.known.All() {
			see(object.KeyOf(obj))
		}
	}
	return keys
}

// keys returns the queued keys in the order of their first delta.
func (m *model) keys() []types.NamespacedName {
	keys := []types.NamespacedName{}
	for _, d := range m.log {
		if !slices.Contains(keys, d.Key) {
			keys = append(keys, d.Key)
		}
	}
	return keys
}

func (m *model) queued(key types.NamespacedName) []delta {
	var deltas []delta
	for _, d := range m.log {
		if d.Key == key {
			deltas = append(deltas, d)
		}
	}
	return deltas
}

func (m *model) append(d delta) {
	if m.isDeltaFIFO && d.Type == Deleted {
		for i, before := range slices.Backward(m.log) {
			if before.Key != d.Key {
				continue
			}
			if before.Type != Deleted {
				break
			}
			if before.FinalStateUnknown {
				m.log[i] = d
			}
			return
		}
	}
	m.log = append(m.log, d)
}

func (m *model) populate(list bool) {
	if !m.isDeltaFIFO {
		return
	}
	if !m.populated || list && !m.listed {
		clear(m.waitFor)
		for _, key := range m.keys() {
			m.waitFor[key]++
		}
		if len(m.inProcess) > 0 {
			m.waitFor[m.inProcess[0].Key]++
		}
	}
	m.populated, m.listed = true, m.listed || list
	m.checkSynced()
}

func (m *model) checkSynced() {
	if m.populated && len(m.waitFor) == 0 && !m.HasSynced() {
		close(m.synced)
	}
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
	if m.isDeltaFIFO {
		key := m.log[0].Key
		batch = m.queued(key)
		m.log = slices.DeleteFunc(m.log, func(d delta) bool { return d.Key == key })
		m.inProcess = slices.Clone(batch)
	} else {
		m.log = nil
	}
	handed := slices.Clone(batch)
	m.unlock()

	defer func() {
		m.mu.Lock()
		defer m.unlock()
		if !m.isDeltaFIFO {
			return
		}
		if m.waitFor[batch[0].Key]--; m.waitFor[batch[0].Key] <= 0 {
			delete(m.waitFor, batch[0].Key)
		}
		m.inProcess = nil
		m.checkSynced()
	}()
	return process(handed)
}

func (m *model) GetByKey(key types.NamespacedName) (Deltas[thing], bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	deltas := m.queued(key)
	return deltasOf(deltas), len(deltas) > 0
}

func (m *model) List() []Deltas[thing] {
	list := []Deltas[thing]{}
	for _, key := range m.ListKeys() {
		deltas, _ := m.GetByKey(key)
		list = append(list, deltas)
	}
	return list
}

func (m *model) ListKeys() []types.NamespacedName {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.keys()
}

// Known finds the last of all deltas of the object that the consumer has not
// finished, in order of arrival, or else looks into the store.
func (m *model) Known(key types.NamespacedName) (thing, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, d := range slices.Backward(slices.Concat(m.inProcess, m.log)) {
		if d.Key == key {
			return d.Object, d.Type != Deleted
		}
	}
	if m.known == nil {
		return nil, false
	}
	return m.known.Get(key)
}

func (m *model) HasSynced() bool {
	select {
	case <-m.synced:
		return true
	default:
		return false
	}
}

func (m *model) Synced() <-chan struct{} { return m.synced }

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
