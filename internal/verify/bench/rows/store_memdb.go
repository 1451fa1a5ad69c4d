package rows

import (
	"fmt"

	"github.com/hashicorp/go-memdb"
	corev1 "k8s.io/api/core/v1"
)

const podTable = "pods"

// memDBAsStore is a table of go-memdb.
type memDBAsStore struct{ db *memdb.MemDB }

func newMemDBStore(indexes []indexName) store {
	table := &memdb.TableSchema{Name: podTable, Indexes: map[string]*memdb.IndexSchema{
		"id": {Name: "id", Unique: true, Indexer: memDBKey{}},
	}}
	for _, name := range indexes {
		n := nameOf[name]
		table.Indexes[n] = &memdb.IndexSchema{Name: n, Indexer: memDBIndex{stringsOf[name]}}
	}
	return memDBAsStore{must(memdb.NewMemDB(&memdb.DBSchema{Tables: map[string]*memdb.TableSchema{podTable: table}}))}
}

// memDBKey is the primary key: namespace and name, ended by a zero as go-memdb
// asks of strings.
type memDBKey struct{}

func (memDBKey) FromObject(raw any) (bool, []byte, error) {
	p := raw.(*corev1.Pod)
	return true, joined(key{Namespace: p.Namespace, Name: p.Name}), nil
}

func (memDBKey) FromArgs(args ...any) ([]byte, error) {
	k, ok := args[0].(key)
	if !ok {
		return nil, fmt.Errorf("%T is not a key", args[0])
	}
	return joined(k), nil
}

func joined(k key) []byte {
	b := make([]byte, 0, len(k.Namespace)+len(k.Name)+2)
	b = append(append(b, k.Namespace...), '/')
	return append(append(b, k.Name...), 0)
}

// memDBIndex is a secondary index of strings.
type memDBIndex struct{ values func(*corev1.Pod) []string }

func (x memDBIndex) FromObject(raw any) (bool, [][]byte, error) {
	values := x.values(raw.(*corev1.Pod))
	bs := make([][]byte, len(values))
	for i, v := range values {
		bs[i] = ended(v)
	}
	return len(bs) > 0, bs, nil
}

func (memDBIndex) FromArgs(args ...any) ([]byte, error) {
	v, ok := args[0].(string)
	if !ok {
		return nil, fmt.Errorf("%T is not a string", args[0])
	}
	return ended(v), nil
}

func ended(s string) []byte { return append(append(make([]byte, 0, len(s)+1), s...), 0) }

func (s memDBAsStore) Write(p *corev1.Pod) { s.WriteAll([]*corev1.Pod{p}) }

func (s memDBAsStore) WriteAll(ps []*corev1.Pod) {
	txn := s.db.Txn(true)
	for _, p := range ps {
		check(txn.Insert(podTable, p))
	}
	txn.Commit()
}

func (s memDBAsStore) Replace(ps []*corev1.Pod) {
	txn := s.db.Txn(true)
	_ = must(txn.DeleteAll(podTable, "id"))
	for _, p := range ps {
		check(txn.Insert(podTable, p))
	}
	txn.Commit()
}

func (s memDBAsStore) Get(k key) *corev1.Pod {
	return must(s.db.Txn(false).First(podTable, "id", k)).(*corev1.Pod)
}

func (s memDBAsStore) All() int { return s.count("id") }

func (s memDBAsStore) InNamespace(namespace string) int {
	return s.count(nameOf[byNamespace], namespace)
}

func (s memDBAsStore) OnNode(node string) int { return s.count(nameOf[byNode], node) }

func (s memDBAsStore) count(index string, args ...any) (n int) {
	it := must(s.db.Txn(false).Get(podTable, index, args...))
	for obj := it.Next(); obj != nil; obj = it.Next() {
		if p, ok := obj.(*corev1.Pod); ok && p != nil {
			n++
		}
	}
	return n
}
