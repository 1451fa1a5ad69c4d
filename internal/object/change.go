package object

import "fmt"

// ChangeType says what happened to an object. Packages indexer, informer and
// deltafifo have it under an alias, with the same constants, so that a value of one
// compares with those of the others.
//
// It has one byte rather than the 16 of a string, because each event of a long log has
// one.
type ChangeType uint8

const (
	// Added means: the object is new.
	Added ChangeType = iota + 1
	// Updated means: a new state of an object that existed before.
	Updated
	// Deleted means: the object does not exist any more.
	Deleted
	// Replaced means: part of, or the whole of, the result of a list. In deltafifo only.
	Replaced
	// Sync means: an object that is delivered again, unchanged. In deltafifo only.
	Sync
	// Bookmark means: nothing changed up to a resourceVersion. In deltafifo only.
	Bookmark
)

// String returns the name of the constant, such as "Added".
func (t ChangeType) String() string {
	switch t {
	case Added:
		return "Added"
	case Updated:
		return "Updated"
	case Deleted:
		return "Deleted"
	case Replaced:
		return "Replaced"
	case Sync:
		return "Sync"
	case Bookmark:
		return "Bookmark"
	}
	return fmt.Sprintf("ChangeType(%d)", uint8(t))
}

// MarshalText returns the name, so that JSON and structured logs have it rather than a
// number.
func (t ChangeType) MarshalText() ([]byte, error) { return []byte(t.String()), nil }
